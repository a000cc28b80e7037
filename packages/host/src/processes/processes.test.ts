import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { createLog, type Store, systemClock, type ToolResult } from "@holdfast/engine";
import { openSession } from "@holdfast/engine/testing";
import { ids, type Json, type OwnerId, type ProcessId, processId } from "@holdfast/protocol";
import { createMemoryStore } from "@holdfast/store";
import { createLiveness, currentHolder, factsOf } from "@holdfast/store/identity";
import { expect, onTestFinished, test } from "vitest";

import { idsFrom } from "../keyed-ids.ts";
import { openTools, openWorkspaces } from "../tools/index.ts";
import { fileNames, readBegun, readEnd } from "./files.ts";
import { createProcesses, createProcessWatch, ProcessDesk } from "./index.ts";

interface HostOptions {
  readonly owner: OwnerId;
  readonly perSession?: number;
  readonly reports?: "turn" | "notice";
}

/** What a host has to do with background processes; another on the same home and store is that host after a restart. */
function openHere(home: string, store: Store, options: HostOptions) {
  const { perSession = 4, reports = "turn", owner } = options;
  const desk = new ProcessDesk({
    home,
    store,
    clock: systemClock,
    liveness: createLiveness(),
    limits: { perSession, hours: 1 },
  });
  const poked: string[] = [];
  const watch = createProcessWatch({
    log: createLog(store),
    ids,
    clock: systemClock,
    owner,
    desk,
    runner: { poke: (_, session) => void poked.push(session) },
    reports,
    report: (bug) => {
      throw bug;
    },
  });
  return { desk, watch, poked, owner };
}

async function open(options: Omit<HostOptions, "owner"> = {}) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-processes-")));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const store = createMemoryStore();
  const chat = await openSession(store);
  const { owner, session } = chat;
  const host = openHere(home, store, { ...options, owner });
  const background = { mostSeconds: 3_600, start: host.desk.start.bind(host.desk) };
  const workspaces = openWorkspaces({ home, roots: [] }, store);
  const parts = { home, store, workspaces, egressAllow: [], environment: process.env, background };
  const terminal = openTools(parts).get("terminal")!;
  const processes = createProcesses(host.desk);
  onTestFinished(async () => {
    for (const { process: each } of await host.desk.kept.list(owner))
      await host.desk.stop(owner, null, each.id);
  });

  const call = (input: Json) => ({
    owner,
    session,
    runId: ids.make("run"),
    callId: ids.make("call"),
    input,
  });
  const hands = { signal: new AbortController().signal, write: () => undefined };
  const ask = (input: Json): Promise<ToolResult> => processes.run(call(input), hands);
  const run = (command: Json, more: { seconds?: number } = {}): Promise<ToolResult> =>
    terminal.run(call({ command, background: true, ...more }), hands);
  const start = async (command: string): Promise<ProcessId> => {
    const { output } = await run(command);
    return processId.parse(/prc_\w+/.exec(output)?.[0]);
  };
  const said = async (): Promise<readonly unknown[]> => {
    const events = await chat.events();
    return events.flatMap(({ type, data }) => (type === "input.accepted" ? [data] : []));
  };
  const folder = join(home, "workspaces", session);
  return { ...host, home, store, chat, owner, session, folder, start, run, ask, said };
}

function isWritten(file: string): boolean {
  return existsSync(file) && readFileSync(file, "utf8").endsWith("\n");
}

/** Looks again and again until who looks after processes has told the session. */
async function untilTold({ desk, watch, owner }: ReturnType<typeof openHere>, id: ProcessId) {
  for (;;) {
    await watch.look();
    const found = await desk.kept.find(owner, null, id);
    if (found?.process.told != null) return found.process;
    await systemClock.sleep(20);
  }
}

test("a process goes on when its call is over, and its end is told to the session once, in the host's words alone", async () => {
  const host = await open();
  const id = await host.start(
    "until [ -e go ]; do sleep 0.05; done; echo I am $((40 + 2)); exit 3",
  );
  expect(await host.ask({ action: "list" })).toMatchObject({ outcome: "ok" });
  await host.watch.look();
  expect(await host.said()).toEqual([]);
  writeFileSync(join(host.folder, "go"), "");
  expect(await untilTold(host, id)).toMatchObject({ told: "accepted" });
  await host.watch.look();
  const said = await host.said();
  expect(said).toMatchObject([{ clientId: `process:${id}`, lane: `process:${id}` }]);
  expect(JSON.stringify(said)).toContain("ended with exit code 3");
  expect(JSON.stringify(said)).not.toContain("I am 42");
  expect(host.poked).toEqual([host.session]);
  const read = await host.ask({ action: "read", id });
  expect(read.output).toContain("I am 42");
});

test("two hosts that see the same end, and one that comes back before it was noted, tell it once", async () => {
  const host = await open();
  const id = await host.start("exit 0");
  while ((await readEnd(host.desk.folderOf(id))) === null) await systemClock.sleep(20);
  const [found] = await host.desk.kept.list(host.owner);
  const other = openHere(host.home, host.store, host);
  await Promise.all([host.watch.look(), other.watch.look()]);
  await untilTold(other, id);
  // As if the host had died before it wrote down that it was told.
  const [told] = await host.desk.kept.list(host.owner);
  await host.desk.kept.change({ ...told!, process: found!.process });
  await untilTold(openHere(host.home, host.store, host), id);
  expect(await host.said()).toHaveLength(1);
});

test("one that is lost with who minds it is told as lost, and nothing of it runs on", async () => {
  const host = await open();
  const id = await host.start("sleep 600");
  const begun = await readBegun(host.desk.folderOf(id));
  process.kill(begun!.minder.pid, "SIGKILL");
  const liveness = createLiveness();
  while (liveness.isDead(begun!.minder) !== "dead") await systemClock.sleep(20);
  expect(await untilTold(host, id)).toMatchObject({ end: { kind: "lost" } });
  expect(JSON.stringify(await host.said())).toContain("was lost with its host");
  while (liveness.isDead(begun!.leader) !== "dead") await systemClock.sleep(20);
});

test("one that was written down and never begun is told as lost", async () => {
  const host = await open();
  const id = await host.start("exit 0");
  // Who minds it writes there until then.
  while ((await readEnd(host.desk.folderOf(id))) === null) await systemClock.sleep(20);
  const [found] = await host.desk.kept.list(host.owner);
  rmSync(host.desk.folderOf(id), { recursive: true });
  const by = { ...found!.process.by, processStart: "1" };
  await host.desk.kept.change({ ...found!, process: { ...found!.process, by } });
  expect(await untilTold(host, id)).toMatchObject({ end: { kind: "lost" } });
});

test("one that was written down long ago and has not begun never begins, and is told as lost while its host lives", async () => {
  const host = await open();
  const id = await host.start("exit 0");
  const folder = host.desk.folderOf(id);
  while ((await readEnd(folder)) === null) await systemClock.sleep(20);
  for (const name of ["end.json", "begun.json"]) rmSync(join(folder, name));
  const long = new Date(Date.now() - 60_000);
  utimesSync(join(folder, "spec.json"), long, long);
  const minder = fileURLToPath(new URL("minder.ts", import.meta.url));
  execFileSync(process.execPath, [minder, folder]);
  expect(existsSync(join(folder, "begun.json"))).toBe(false);
  expect(await untilTold(host, id)).toMatchObject({ end: { kind: "lost" } });
});

test("where its files cannot be written, nothing is started, and its place is free again", async () => {
  const host = await open({ perSession: 1 });
  await host.desk.place();
  const files = join(host.home, "processes");
  renameSync(files, `${files}.away`);
  writeFileSync(files, "in the way");
  const failed = await host.run("exit 0");
  expect(failed).toMatchObject({ outcome: "failed" });
  expect(failed.output).toContain("could not be started (");
  rmSync(files);
  renameSync(`${files}.away`, files);
  const id = await host.start("exit 0");
  expect(await untilTold(host, id)).toMatchObject({ told: "accepted" });
  expect(await host.said()).toHaveLength(1);
});

test("files of a process that the register has forgotten go, and those of the others stay", async () => {
  const host = await open();
  const id = await host.start("exit 0");
  await untilTold(host, id);
  const forgotten = host.desk.folderOf(ids.make("process"));
  mkdirSync(forgotten);
  host.watch.start();
  while (existsSync(forgotten)) await systemClock.sleep(20);
  await host.watch.stop();
  expect(existsSync(host.desk.folderOf(id))).toBe(true);
});

test("one that cannot be started is a failed call, and nothing more is said of it", async () => {
  const host = await open();
  const failed = await host.run(["no-such-program"]);
  expect(failed).toMatchObject({ outcome: "failed" });
  expect(failed.output).toContain("could not be started (ENOENT)");
  await host.watch.look();
  const [only] = await host.desk.kept.list(host.owner);
  expect(only?.process).toMatchObject({ told: "silent", end: { kind: "not_started" } });
  expect(await host.said()).toEqual([]);
});

test("one that cannot be written down as begun is no more than a failed call: nothing runs that nobody could stop", async () => {
  const host = await open();
  const { owner, session } = host;
  const call = { owner, session, runId: ids.make("run"), callId: ids.make("call"), input: null };
  // As on a disk without room.
  const folder = host.desk.folderOf(idsFrom(`process ${call.callId}`).make("process"));
  mkdirSync(join(folder, `${fileNames.begun}.new`), { recursive: true });
  const mark = `600.${process.pid}`;
  const argv: [string, string] = ["sleep", mark];
  const environment = { PATH: process.env["PATH"] ?? "" };
  const spec = { argv, environment, folder: host.home, timeLimitMs: 600_000 };
  const command = { ...spec, shown: "sleep" };
  expect(await host.desk.start(call, command)).toMatchObject({ status: "refused" });
  expect(execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })).not.toContain(`sleep ${mark}`);
});

test("stopped by its session's agent, a process and all that it started end, and no turn begins", async () => {
  const host = await open();
  const id = await host.start("sleep 600 & echo $! > child; wait");
  while (!isWritten(join(host.folder, "child"))) await systemClock.sleep(20);
  const child = {
    ...currentHolder("test"),
    ...factsOf(Number(readFileSync(join(host.folder, "child"), "utf8"))),
  };
  const stopped = await host.ask({ action: "stop", id });
  expect(stopped.output).toContain("was stopped");
  expect(await untilTold(host, id)).toMatchObject({ told: "silent", end: { kind: "stopped" } });
  expect(createLiveness().isDead(child)).toBe("dead");
  expect(await host.said()).toEqual([]);
});

test("one that has put who minds it to sleep is stopped all the same, when asked and when its time is over", async () => {
  const host = await open();
  const putToSleep = async (id: ProcessId): Promise<void> => {
    const begun = await readBegun(host.desk.folderOf(id));
    process.kill(begun!.minder.pid, "SIGSTOP");
  };
  // At once, before anything could be written down about it.
  const first = await host.start("kill -STOP $PPID; sleep 600");
  await putToSleep(first);
  expect((await host.ask({ action: "stop", id: first })).output).toContain("was stopped");
  const second = await host.start("sleep 600");
  await putToSleep(second);
  const found = await host.desk.kept.find(host.owner, null, second);
  await host.desk.kept.change({ ...found!, process: { ...found!.process, startedAt: 0 } });
  expect(await untilTold(host, second)).toMatchObject({ end: { kind: "stopped" } });
});

test("two hosts that begin on one home at once call it the same", async () => {
  const host = await open();
  const others = [1, 2, 3].map(() => openHere(host.home, host.store, host).desk.place());
  expect(new Set(await Promise.all(others)).size).toBe(1);
});

test("when all places are taken the oldest that is over makes room, and its files go with it", async () => {
  const host = await open();
  const first = await host.start("exit 0");
  const told = await untilTold(host, first);
  const startedAt = told.startedAt + 1;
  for (let place = 1; place < 200; place += 1)
    await host.desk.kept.add(host.owner, { ...told, id: ids.make("process"), startedAt });
  expect(existsSync(host.desk.folderOf(first))).toBe(true);
  const second = await host.start("exit 0");
  expect(existsSync(host.desk.folderOf(second))).toBe(true);
  expect(existsSync(host.desk.folderOf(first))).toBe(false);
});

test("with its session in the trash a process ends", async () => {
  const host = await open();
  const id = await host.start("sleep 600");
  await createLog(host.store).trashSession(host.owner, host.session);
  expect(await untilTold(host, id)).toMatchObject({ stop: "session", end: { kind: "stopped" } });
});

test("beyond its time a process is stopped, and that is told", async () => {
  const host = await open();
  const { output } = await host.run("sleep 600", { seconds: 1 });
  const id = processId.parse(/prc_\w+/.exec(output)?.[0]);
  expect(await untilTold(host, id)).toMatchObject({ end: { kind: "stopped", why: "time" } });
  expect(JSON.stringify(await host.said())).toContain("took too long");
});

test("a session has as many as the settings say, and knows nothing of those of others", async () => {
  const host = await open({ perSession: 1 });
  const id = await host.start("sleep 600");
  expect(await host.run("sleep 600")).toMatchObject({ outcome: "failed" });
  const other = await openSession(host.store);
  const processes = createProcesses(host.desk);
  const hands = { signal: new AbortController().signal, write: () => undefined };
  const { owner, session } = other;
  const from = { owner, session, runId: ids.make("run"), callId: ids.make("call") };
  expect(await processes.run({ ...from, input: { action: "stop", id } }, hands)).toMatchObject({
    outcome: "failed",
  });
});

test("where people alone are to be told, an end is a notice", async () => {
  const host = await open({ reports: "notice" });
  const id = await host.start("exit 0");
  await untilTold(host, id);
  expect(await host.said()).toEqual([]);
  const notices = (await host.chat.entries()).filter(({ type }) => type === "notice.added");
  expect(notices.map(({ data }) => data["kind"])).toEqual(["process_ended"]);
});

test("of a long output the beginning and the end are kept, within bounds", async () => {
  const host = await open();
  const id = await host.start("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the end");
  await untilTold(host, id);
  const read = await host.ask({ action: "read", id });
  expect(read.output).toContain("[what came before is left out]");
  expect(read.output.endsWith("the end\n")).toBe(true);
  const sizes = ["out.0", "out.1", "out.2"].map((name) =>
    existsSync(join(host.desk.folderOf(id), name)),
  );
  expect(sizes.filter(Boolean).length).toBeLessThan(3);
});
