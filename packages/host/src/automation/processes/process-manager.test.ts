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

test("a process goes on when its call is over, and its end is told to the session once, in the host's words alone", async () => {
  const host = await open();
  const id = await host.start(
    "until [ -e go ]; do sleep 0.05; done; echo I am $((40 + 2)); exit 3",
  );
  expect(await host.ask({ action: "list" })).toMatchObject({ outcome: "ok" });
  await host.watch.look();
  expect(await host.said()).toEqual([]);
  writeFileSync(join(host.folder, "go"), "");
  expect(await untilReported(host, id)).toMatchObject({ told: "accepted" });
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
  const [found] = await host.desk.store.list(host.owner);
  const other = openProcessHost(host.home, host.store, host);
  await Promise.all([host.watch.look(), other.watch.look()]);
  await untilReported(other, id);
  // As if the host had died before it wrote down that it was told.
  const [told] = await host.desk.store.list(host.owner);
  await host.desk.store.change({ ...told!, process: found!.process });
  await untilReported(openProcessHost(host.home, host.store, host), id);
  expect(await host.said()).toHaveLength(1);
});

test("one that cannot be started is a failed call, and nothing more is said of it", async () => {
  const host = await open();
  const failed = await host.run(["no-such-program"]);
  expect(failed).toMatchObject({ outcome: "failed" });
  expect(failed.output).toContain("could not be started (ENOENT)");
  await host.watch.look();
  const [only] = await host.desk.store.list(host.owner);
  expect(only?.process).toMatchObject({ told: "silent", end: { kind: "not_started" } });
  expect(await host.said()).toEqual([]);
});

test("that one could not be started is left to its call, and is told where that could not note it", async () => {
  const host = await open();
  await host.run(["no-such-program"]);
  const [noted] = await host.desk.store.list(host.owner);
  const before = { ...noted!.process, end: null, endedAt: null, told: null };
  await host.desk.store.change({ ...noted!, process: before });
  const spec = join(host.desk.folderOf(before.id), fileNames.spec);
  // However long this has taken.
  utimesSync(spec, new Date(), new Date());
  await host.watch.look();
  expect(await host.said()).toEqual([]);
  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(spec, longAgo, longAgo);
  await untilReported(host, before.id);
  expect(JSON.stringify(await host.said())).toContain("could not be started (ENOENT)");
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
  expect(await untilReported(host, id)).toMatchObject({ told: "silent", end: { kind: "stopped" } });
  expect(createLiveness().isDead(child)).toBe("dead");
  expect(await host.said()).toEqual([]);
});

test("one that has put who minds it to sleep is stopped all the same, when asked and when its time is over", async () => {
  const host = await open();
  const putToSleep = async (id: ProcessId): Promise<void> => {
    const begun = await readStartRecord(host.desk.folderOf(id));
    process.kill(begun!.minder.pid, "SIGSTOP");
  };
  // At once, before anything could be written down about it.
  const first = await host.start("kill -STOP $PPID; sleep 600");
  await putToSleep(first);
  expect((await host.ask({ action: "stop", id: first })).output).toContain("was stopped");
  const second = await host.start("sleep 600");
  await putToSleep(second);
  const found = await host.desk.store.find(host.owner, null, second);
  await host.desk.store.change({ ...found!, process: { ...found!.process, startedAt: 0 } });
  expect(await untilReported(host, second)).toMatchObject({ end: { kind: "stopped" } });
});

test("two hosts that begin on one home at once call it the same", async () => {
  const host = await open();
  const others = [1, 2, 3].map(() => openProcessHost(host.home, host.store, host).desk.homeId());
  expect(new Set(await Promise.all(others)).size).toBe(1);
});

test("when all places are taken the oldest that is over makes room, and its files go with it", async () => {
  const host = await open();
  const first = await host.start("exit 0");
  const told = await untilReported(host, first);
  const startedAt = told.startedAt + 1;
  for (let place = 1; place < 200; place += 1)
    await host.desk.store.add(host.owner, { ...told, id: ids.make("process"), startedAt });
  expect(existsSync(host.desk.folderOf(first))).toBe(true);
  const second = await host.start("exit 0");
  expect(existsSync(host.desk.folderOf(second))).toBe(true);
  expect(existsSync(host.desk.folderOf(first))).toBe(false);
});

test("with its session in the trash a process ends", async () => {
  const host = await open();
  const id = await host.start("sleep 600");
  await createLog(host.store).trashSession(host.owner, host.session);
  expect(await untilReported(host, id)).toMatchObject({
    stop: "session",
    end: { kind: "stopped" },
  });
});

test("beyond its time a process is stopped, and that is told", async () => {
  const host = await open();
  const { output } = await host.run("sleep 600", { seconds: 1 });
  const id = processId.parse(/prc_\w+/.exec(output)?.[0]);
  expect(await untilReported(host, id)).toMatchObject({ end: { kind: "stopped", why: "time" } });
  expect(JSON.stringify(await host.said())).toContain("took too long");
});

test("a session has as many as the settings say, and knows nothing of those of others", async () => {
  const host = await open({ perSession: 1 });
  const id = await host.start("sleep 600");
  expect(await host.run("sleep 600")).toMatchObject({ outcome: "failed" });
  const other = await openTestSession(host.store);
  const processes = createProcessesTool(host.desk);
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
  await untilReported(host, id);
  expect(await host.said()).toEqual([]);
  const notices = (await host.chat.entries()).filter(({ type }) => type === "notice.added");
  expect(notices.map(({ data }) => data["kind"])).toEqual(["process_ended"]);
});

const aNotice = () => ({ noticeId: ids.make("notice"), kind: "filler", text: "Much was done." });

/** Everything that waits is taken up and answered. */
async function answerAll({ store, owner, session, chat }: Awaited<ReturnType<typeof open>>) {
  const runner = createRunner(store, createLog(store), {
    model: scriptedModel(() => says("Well.")),
  });
  runner.notify(owner, session);
  await runner.idle();
  expect((await chat.snapshot()).inbox).toEqual([]);
}

test("turns in a row that only ends of processes have begun have a bound, over restarts too, until a person says something", async () => {
  const options = { turnsInARow: 2, perSession: 9 };
  const first = await open(options);
  const tellOne = async (host: ReturnType<typeof openProcessHost>) =>
    (await untilReported(host, await first.start("exit 0"))).told;
  expect([await tellOne(first), await tellOne(first)]).toEqual(["accepted", "accepted"]);
  // They count whether they wait or were taken up, however much was done for them.
  await answerAll(first);
  const filler = Array.from({ length: 150 }, () => anEvent("notice.added", aNotice()));
  await first.chat.commit(filler);
  const second = openProcessHost(first.home, first.store, { ...options, owner: first.owner });
  expect([await tellOne(second), (await first.said()).length]).toEqual(["committed", 2]);
  const notices = (await first.chat.entries()).filter(({ type }) => type === "notice.added");
  expect(JSON.stringify(notices)).toMatch(/The last 2 turns .* say something, and it goes on/);
  const { owner, session, store } = first;
  const said = { owner, session, clientId: "mine", text: "Go on" };
  await admitMessage(createLog(store), ids, said);
  expect([await tellOne(second), await tellOne(second), await tellOne(second)]).toEqual([
    "accepted",
    "accepted",
    "committed",
  ]);
  expect(await first.said()).toHaveLength(5);
});

test("of a long output the beginning and the end are kept, within bounds", async () => {
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
