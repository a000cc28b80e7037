import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  admitMessage,
  answerApproval,
  requestCancel,
  StoreFailure,
  systemClock,
} from "@holdfast/engine";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import {
  type CallId,
  ids,
  type RunState,
  type Seq,
  type SessionId,
  terminalStates,
} from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { readConfig } from "../../ops/config/read-config.ts";
import { createAgentRuntime } from "../../agent/runtime.ts";
import { createToolset } from "../../agent/toolset.ts";
import { openFactStore } from "../../agent/memory/fact-store.ts";
import { openMemoryProviders } from "../../agent/memory/providers.ts";
import { memorySecrets } from "../../../test/support/providers/models.ts";
import { createModelRegistry } from "../../agent/models/registry.ts";
import { createOrphanReaper } from "./orphan-reaper.ts";
import { createDelegateTool } from "./delegate-tool.ts";

/** A host with the rehearsal model. */
async function open(environment: Record<string, string> = {}) {
  const home = mkdtempSync(join(tmpdir(), "holdfast-delegate-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const config = readConfig({ flags: { home }, environment, personFolder: home });
  if (!config.ok) throw new Error(config.failure.message);
  const report = (bug: Error): never => {
    throw bug;
  };
  const models = createModelRegistry({
    config: config.value,
    environment: {},
    secrets: memorySecrets(),
  });
  const store = createReferenceStore();
  const chat = await openTestSession(store);
  const memories = await openMemoryProviders(home, {
    choice: "facts",
    facts: openFactStore({ register: store.register, home }),
  });
  const toolset = createToolset(config.value, store);
  const { engine } = await createAgentRuntime({
    config: config.value,
    store,
    models,
    memory: memories,
    toolset,
    report,
  });
  onTestFinished(() => engine.stop());
  const { owner, session } = chat;
  const { log, runner } = engine;

  async function say(text: string) {
    const admitted = await admitMessage(log, ids, { owner, session, clientId: "one", text });
    if (admitted.status !== "accepted") throw new Error(JSON.stringify(admitted));
    runner.notify(owner, session);
    return admitted.runId;
  }

  /** Waits until a run of the session reaches the wanted state. */
  async function until(target: SessionId, isWanted: (state: RunState) => boolean): Promise<void> {
    for await (const item of log.tail(owner, target, 0 as Seq)) {
      if (item.kind !== "events") continue;
      const states = item.events.filter(({ type }) => type === "run.state");
      if (states.some(({ data }) => isWanted(data["state"] as RunState))) return;
    }
  }

  async function children() {
    const page = await store.reads.sessions(owner, { shelf: "archived", limit: 20 });
    return page.sessions;
  }

  const results = async () => {
    const entries = await chat.entries();
    return entries
      .filter(({ type }) => type === "message.tool")
      .flatMap(({ data }) => data["parts"] as { outcome: string; output: string }[]);
  };
  return { ...engine, home, store, owner, session, chat, say, until, children, results };
}

const ended = (state: RunState): boolean => terminalStates.has(state);
const delegate = (task: string): string => `{tool:delegate ${JSON.stringify({ task })}}`;

/** Waits for the child that the call creates. */
async function untilChild(
  { log, store, owner }: Awaited<ReturnType<typeof open>>,
  parent: SessionId,
): Promise<SessionId> {
  for await (const item of log.tail(owner, parent, 0 as Seq)) {
    if (item.kind !== "events") continue;
    const lanes = await store.reads.lanes(owner, `delegate:${parent}:`, 1);
    const [lane] = lanes;
    if (lane !== undefined) return lane.session;
  }
  throw new Error("The tail has ended.");
}

test("a task is answered by a child session linked to its call, which is unlisted and not remembered", async () => {
  const host = await open();
  const runId = await host.say(delegate("{words:3}"));
  await host.until(host.session, ended);
  const [child, ...others] = await host.children();
  expect(others).toEqual([]);
  expect(child).toMatchObject({ tags: [`child-of:${host.session}`], lastState: "completed" });
  const [result] = await host.results();
  expect(result).toMatchObject({
    outcome: "ok",
    details: { child: { sessionId: child!.id } },
  });
  expect(result?.output).toContain(`[answered in session ${child!.id}]`);
  const [created] = (await host.store.reads.events(host.owner, child!.id, {
    after: 0 as Seq,
    limit: 1,
  }))!.events;
  expect(created?.data["parent"]).toMatchObject({ sessionId: host.session, runId, above: [] });
  const active = await host.store.reads.sessions(host.owner, { limit: 10 });
  expect(active.sessions.map(({ id }) => id)).toEqual([host.session]);
  const { marks } = await host.store.reads.unremembered(host.owner, child!.id, 10);
  expect(marks).toEqual([]);
});

test("a child uses its parent's workspace and asks for its own approvals, which the parent's session mentions", async () => {
  const host = await open();
  const command = ["sh", "-c", "pwd > here; cat here"];
  await host.say(delegate(`{tool:terminal ${JSON.stringify({ command })}}`));
  const child = await untilChild(host, host.session);
  await host.until(child, (state) => state === "waiting");
  await noticeIn(host, host.session);
  const { approvals } = await host.store.reads.approvals(host.owner, { session: child, limit: 5 });
  const notices = (await host.chat.entries()).filter(({ type }) => type === "notice.added");
  expect(notices.map(({ data }) => data)).toMatchObject([
    { kind: "child_waiting", details: { sessionId: child, approvalId: approvals[0]!.id } },
  ]);
  await answerApproval(host.log, ids, host.owner, approvals[0]!.id, "once");
  host.runner.notify(host.owner, child);
  await host.until(host.session, ended);
  const folder = join(host.home, "workspaces", host.session);
  expect((await host.results())[0]).toMatchObject({ outcome: "ok" });
  expect((await host.results())[0]?.output).toContain(folder);
});

async function noticeIn(
  { log, owner }: Pick<Awaited<ReturnType<typeof open>>, "log" | "owner">,
  session: SessionId,
): Promise<void> {
  for await (const item of log.tail(owner, session, 0 as Seq))
    if (item.kind === "events" && item.events.some(({ type }) => type === "notice.added")) return;
}

test("[P6] cancelling the parent cancels its child", async () => {
  const host = await open();
  const runId = await host.say(delegate("{stall:600}"));
  const child = await untilChild(host, host.session);
  await host.until(child, (state) => state === "running");
  await requestCancel(host.log, ids, host.owner, runId);
  host.runner.notify(host.owner, host.session);
  await host.until(child, ended);
  await host.until(host.session, ended);
  const row = await host.store.reads.session(host.owner, child);
  expect(row?.lastState).toBe("cancelled");
});

test.each([
  ["the full scan", "checkAll"],
  ["the scan of live runs", "checkLive"],
] as const)("[P6] a child whose parent ended without it is cancelled by %s", async (_, scan) => {
  const host = await open();
  const runId = await host.say(delegate("{stall:600}"));
  const child = await untilChild(host, host.session);
  await host.until(child, (state) => state === "running");
  // Like a host that dies: its work stays unfinished, and nobody is told.
  await host.runner.stop();
  await requestCancel(host.log, ids, host.owner, runId);
  await createReaper(host)[scan]();
  const row = await host.store.reads.session(host.owner, child);
  const run = await host.store.reads.run(host.owner, row!.liveRun!);
  expect(run?.cancelRequested).toBe(true);
});

test("[P6] a child that waits for a person is cancelled once its parent has ended", async () => {
  const host = await open();
  const runId = await host.say(delegate('{tool:terminal {"command":["ls"]}}'));
  const child = await untilChild(host, host.session);
  await host.until(child, (state) => state === "waiting");
  await host.runner.stop();
  await requestCancel(host.log, ids, host.owner, runId);
  const row = await host.store.reads.session(host.owner, child);
  // No runner works on it, so it can be found only by its question.
  await expect
    .poll(async () => (await host.store.work.live(9)).map(({ session }) => session))
    .not.toContain(child);
  await createReaper(host).checkLive();
  expect((await host.store.reads.run(host.owner, row!.liveRun!))?.cancelRequested).toBe(true);
});

function createReaper({ log, owner }: Pick<Awaited<ReturnType<typeof open>>, "log" | "owner">) {
  return createOrphanReaper({
    log,
    ids,
    clock: { now: () => 0, sleep: async () => undefined },
    owner,
    runner: { notify: () => undefined },
    report: (bug) => {
      throw bug;
    },
  });
}

test("delegation is limited in depth, and a run in its number of children", async () => {
  const host = await open({ HOLDFAST_DELEGATE_DEPTH: "1", HOLDFAST_DELEGATE_CHILDREN: "1" });
  await host.say(`${delegate(delegate("{words:1}"))} ${delegate("{words:1}")}`);
  await host.until(host.session, ended);
  const [first, second] = await host.results();
  expect(first?.output).toContain("Tasks are handed on 1 deep at most");
  expect(second).toMatchObject({ outcome: "failed" });
  expect(second?.output).toContain("A run may have 1 children");
  expect(await host.children()).toHaveLength(1);
});

test("a host with a delegation depth of 0 offers no delegation", async () => {
  const host = await open({ HOLDFAST_DELEGATE_DEPTH: "0" });
  await host.say(delegate("{words:1}"));
  await host.until(host.session, ended);
  expect(await host.results()).toMatchObject([
    { outcome: "failed", output: "There is no tool delegate." },
  ]);
  expect(await host.children()).toEqual([]);
});

test("[P7] a store outage does not fail a task: its answer is read once the store is back", async () => {
  const host = await open();
  const { reads } = host.store;
  const readRun = reads.run.bind(reads);
  let failures = 0;
  Object.assign(reads, {
    run: async (...args: Parameters<typeof readRun>) => {
      const run = await readRun(...args);
      // Only the delegate tool reads a completed run of another session.
      const isChild = run !== null && run.session !== host.session && run.state === "completed";
      if (!isChild || failures > 0) return run;
      failures += 1;
      throw new StoreFailure("store_unavailable", "The store is away.");
    },
  });
  await host.say(delegate("{words:3}"));
  await host.until(host.session, ended);
  expect(failures).toBe(1);
  expect((await host.results())[0]).toMatchObject({ outcome: "ok" });
});

test("a failed child is a result that says why, with its last answer", async () => {
  const host = await open();
  await host.say(delegate("{fail:401!}"));
  await host.until(host.session, ended);
  const [child] = await host.children();
  const [result] = await host.results();
  expect(result).toMatchObject({ outcome: "failed" });
  expect(result?.output).toContain("Its run ended as failed");
  expect(result?.output).toContain(child!.id);
});

test("[P7] tasks of one step run in parallel and are counted one by one, and a repeated call has one child", async () => {
  const host = await open();
  const { log, owner, session, runner } = host;
  const tool = createDelegateTool({
    log,
    ids,
    clock: systemClock,
    notify: (...args) => runner.notify(...args),
    depth: 1,
    children: 2,
  });
  const runId = ids.make("run");
  const context = { signal: new AbortController().signal, write: () => undefined };
  const delegateCall = (callId: CallId) =>
    tool.run({ owner, session, runId, callId, input: { task: "{words:2}" } }, context);
  const [first, second, third] = [ids.make("call"), ids.make("call"), ids.make("call")];
  const results = await Promise.all([first, first, second, third].map(delegateCall));
  expect(results.map(({ outcome }) => outcome)).toEqual(["ok", "ok", "ok", "failed"]);
  expect(results[0]).toEqual(results[1]);
  expect(await host.children()).toHaveLength(2);
});
