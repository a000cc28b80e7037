import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { admitMessage, createLog, systemClock } from "@holdfast/engine";
import { anEvent } from "@holdfast/testing/fixtures/factories";
import { createRunner } from "@holdfast/testing/rigs/run-rig";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { ids, type ProcessId, processId } from "@holdfast/protocol";
import { createLiveness, currentHolder, factsOf } from "@holdfast/store/identity";
import { expect, onTestFinished, test } from "vitest";

import {
  openProcesses,
  openProcessHost,
  untilReported,
} from "../../../test/support/process-rig.ts";
import { fileNames, readStartRecord, readEnd } from "./process-folder.ts";
import { createProcessesTool } from "./processes-tool.ts";

async function open(options?: Parameters<typeof openProcesses>[0]) {
  const host = await openProcesses(options);
  onTestFinished(() => host.close());
  return host;
}

function isWritten(file: string): boolean {
  return existsSync(file) && readFileSync(file, "utf8").endsWith("\n");
}

test("a process outlives its call, and its end is reported to the session once, in the host's words alone", async () => {
  const host = await open();
  const id = await host.start(
    "until [ -e go ]; do sleep 0.05; done; echo I am $((40 + 2)); exit 3",
  );
  expect(await host.ask({ action: "list" })).toMatchObject({ outcome: "ok" });
  await host.watch.checkAll();
  expect(await host.said()).toEqual([]);
  writeFileSync(join(host.folder, "go"), "");
  expect(await untilReported(host, id)).toMatchObject({ told: "accepted" });
  await host.watch.checkAll();
  const said = await host.said();
  expect(said).toMatchObject([{ clientId: `process:${id}`, lane: `process:${id}` }]);
  expect(JSON.stringify(said)).toContain("ended with exit code 3");
  expect(JSON.stringify(said)).not.toContain("I am 42");
  expect(host.poked).toEqual([host.session]);
  const read = await host.ask({ action: "read", id });
  expect(read.output).toContain("I am 42");
});

test("an end that two hosts see, or that was not recorded as reported, is reported once", async () => {
  const host = await open();
  const id = await host.start("exit 0");
  while ((await readEnd(host.desk.folderOf(id))) === null) await systemClock.sleep(20);
  const [found] = await host.desk.store.list(host.owner);
  const other = openProcessHost(host.home, host.store, host);
  await Promise.all([host.watch.checkAll(), other.watch.checkAll()]);
  await untilReported(other, id);
  // As if the host had died before it recorded the report.
  const [reported] = await host.desk.store.list(host.owner);
  await host.desk.store.change({ ...reported!, process: found!.process });
  await untilReported(openProcessHost(host.home, host.store, host), id);
  expect(await host.said()).toHaveLength(1);
});

test("a process that cannot be started is a failed call, and nothing else is reported", async () => {
  const host = await open();
  const failed = await host.run(["no-such-program"]);
  expect(failed).toMatchObject({ outcome: "failed" });
  expect(failed.output).toContain("could not be started (ENOENT)");
  await host.watch.checkAll();
  const [record] = await host.desk.store.list(host.owner);
  expect(record?.process).toMatchObject({ told: "silent", end: { kind: "not_started" } });
  expect(await host.said()).toEqual([]);
});

test("a failed start is left to its call, and reported only if the call could not record it", async () => {
  const host = await open();
  await host.run(["no-such-program"]);
  const [recorded] = await host.desk.store.list(host.owner);
  const unrecorded = { ...recorded!.process, end: null, endedAt: null, told: null };
  await host.desk.store.change({ ...recorded!, process: unrecorded });
  const spec = join(host.desk.folderOf(unrecorded.id), fileNames.spec);
  // However long the test has taken so far.
  utimesSync(spec, new Date(), new Date());
  await host.watch.checkAll();
  expect(await host.said()).toEqual([]);
  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(spec, longAgo, longAgo);
  await untilReported(host, unrecorded.id);
  expect(JSON.stringify(await host.said())).toContain("could not be started (ENOENT)");
});

test("stopping a process ends everything it started, and starts no turn", async () => {
  const host = await open();
  const id = await host.start("sleep 600 & echo $! > child; wait");
  while (!isWritten(join(host.folder, "child"))) await systemClock.sleep(20);
  const child = {
    ...currentHolder("test"),
    ...factsOf(Number(readFileSync(join(host.folder, "child"), "utf8"))),
  };
  const stopped = await host.ask({ action: "stop", id });
  expect(stopped.output).toContain("was stopped");
  expect(await untilReported(host, id)).toMatchObject({ told: "silent", end: { kind: "stopped" } });
  expect(createLiveness().isDead(child)).toBe("dead");
  expect(await host.said()).toEqual([]);
});

test("a process that suspended its minder is still stopped, on request and when its time is up", async () => {
  const host = await open();
  const suspendMinder = async (id: ProcessId): Promise<void> => {
    const started = await readStartRecord(host.desk.folderOf(id));
    process.kill(started!.minder.pid, "SIGSTOP");
  };
  // At once, before anything could be recorded about it.
  const first = await host.start("kill -STOP $PPID; sleep 600");
  await suspendMinder(first);
  expect((await host.ask({ action: "stop", id: first })).output).toContain("was stopped");
  const second = await host.start("sleep 600");
  await suspendMinder(second);
  const found = await host.desk.store.find(host.owner, null, second);
  await host.desk.store.change({ ...found!, process: { ...found!.process, startedAt: 0 } });
  expect(await untilReported(host, second)).toMatchObject({ end: { kind: "stopped" } });
});

test("hosts that start on one home at once agree on its id", async () => {
  const host = await open();
  const others = [1, 2, 3].map(() => openProcessHost(host.home, host.store, host).desk.homeId());
  expect(new Set(await Promise.all(others)).size).toBe(1);
});

test("when all slots are taken, the oldest finished process makes room, and its files are removed", async () => {
  const host = await open();
  const first = await host.start("exit 0");
  const finished = await untilReported(host, first);
  const startedAt = finished.startedAt + 1;
  for (let index = 1; index < 200; index += 1)
    await host.desk.store.add(host.owner, { ...finished, id: ids.make("process"), startedAt });
  expect(existsSync(host.desk.folderOf(first))).toBe(true);
  const second = await host.start("exit 0");
  expect(existsSync(host.desk.folderOf(second))).toBe(true);
  expect(existsSync(host.desk.folderOf(first))).toBe(false);
});

test("moving its session to the trash stops a process", async () => {
  const host = await open();
  const id = await host.start("sleep 600");
  await createLog(host.store).trashSession(host.owner, host.session);
  expect(await untilReported(host, id)).toMatchObject({
    stop: "session",
    end: { kind: "stopped" },
  });
});

test("a process that exceeds its time limit is stopped, and that is reported", async () => {
  const host = await open();
  const { output } = await host.run("sleep 600", { seconds: 1 });
  const id = processId.parse(/prc_\w+/.exec(output)?.[0]);
  expect(await untilReported(host, id)).toMatchObject({ end: { kind: "stopped", why: "time" } });
  expect(JSON.stringify(await host.said())).toContain("took too long");
});

test("a session has a limited number of processes, and cannot see those of others", async () => {
  const host = await open({ perSession: 1 });
  const id = await host.start("sleep 600");
  expect(await host.run("sleep 600")).toMatchObject({ outcome: "failed" });
  const other = await openTestSession(host.store);
  const processes = createProcessesTool(host.desk);
  const context = { signal: new AbortController().signal, write: () => undefined };
  const { owner, session } = other;
  const call = { owner, session, runId: ids.make("run"), callId: ids.make("call") };
  expect(await processes.run({ ...call, input: { action: "stop", id } }, context)).toMatchObject({
    outcome: "failed",
  });
});

test("with reports set to notice, an end is a notice", async () => {
  const host = await open({ reports: "notice" });
  const id = await host.start("exit 0");
  await untilReported(host, id);
  expect(await host.said()).toEqual([]);
  const notices = (await host.chat.entries()).filter(({ type }) => type === "notice.added");
  expect(notices.map(({ data }) => data["kind"])).toEqual(["process_ended"]);
});

const aNotice = () => ({ noticeId: ids.make("notice"), kind: "filler", text: "Much was done." });

/** Runs the agent until all queued input is answered. */
async function answerAll({ store, owner, session, chat }: Awaited<ReturnType<typeof open>>) {
  const runner = createRunner(store, createLog(store), {
    model: scriptedModel(() => says("Well.")),
  });
  runner.notify(owner, session);
  await runner.idle();
  expect((await chat.snapshot()).inbox).toEqual([]);
}

test("the number of turns in a row that process ends start is limited, across restarts, until a person writes", async () => {
  const options = { turnsInARow: 2, perSession: 9 };
  const first = await open(options);
  const runAndReport = async (host: ReturnType<typeof openProcessHost>) =>
    (await untilReported(host, await first.start("exit 0"))).told;
  expect([await runAndReport(first), await runAndReport(first)]).toEqual(["accepted", "accepted"]);
  // They count whether queued or answered, however much happened since.
  await answerAll(first);
  const filler = Array.from({ length: 150 }, () => anEvent("notice.added", aNotice()));
  await first.chat.commit(filler);
  const second = openProcessHost(first.home, first.store, { ...options, owner: first.owner });
  expect([await runAndReport(second), (await first.said()).length]).toEqual(["committed", 2]);
  const notices = (await first.chat.entries()).filter(({ type }) => type === "notice.added");
  expect(JSON.stringify(notices)).toMatch(/The last 2 turns .* say something, and it goes on/);
  const { owner, session, store } = first;
  const said = { owner, session, clientId: "mine", text: "Go on" };
  await admitMessage(createLog(store), ids, said);
  expect([
    await runAndReport(second),
    await runAndReport(second),
    await runAndReport(second),
  ]).toEqual(["accepted", "accepted", "committed"]);
  expect(await first.said()).toHaveLength(5);
});

test("the beginning and the end of a long output are kept, within bounds", async () => {
  const host = await open();
  const id = await host.start("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the end");
  await untilReported(host, id);
  const read = await host.ask({ action: "read", id });
  expect(read.output).toContain("[what came before is left out]");
  expect(read.output.endsWith("the end\n")).toBe(true);
  const sizes = ["out.0", "out.1", "out.2"].map((name) =>
    existsSync(join(host.desk.folderOf(id), name)),
  );
  expect(sizes.filter(Boolean).length).toBeLessThan(3);
});

test("processes started at the same time all count towards the limit", async () => {
  const host = await open({ perSession: 2 });
  const results = await Promise.all([1, 2, 3, 4].map(() => host.run("sleep 600")));
  const refused = results.filter(({ outcome }) => outcome === "failed");
  expect(refused.map(({ output }) => output)).toEqual([
    expect.stringContaining("2 background processes at most"),
    expect.stringContaining("2 background processes at most"),
  ]);
  expect(await host.desk.store.list(host.owner)).toHaveLength(2);
});
