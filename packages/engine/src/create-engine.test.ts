import { approvalId, ownerId, type SessionId, type StoredEvent } from "@holdfast/protocol";
import {
  calls,
  gate,
  says,
  scriptedModel,
  type Script,
  thinks,
} from "@holdfast/testing/fakes/scripted-model";
import { aHolder, aNotice } from "@holdfast/testing/fixtures/factories";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { RecordingMemory } from "@holdfast/testing/rigs/memory-rig";
import { createGate, createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import { expect, onTestFinished, test } from "vitest";
import {
  type AcceptedMessage,
  createEngine,
  type Engine,
  type EngineSettings,
} from "./create-engine.ts";
import { createLog, type LogOptions } from "./log/log.ts";
import type { TailItem } from "./log/tail.ts";
import type { ProcessIdentity } from "./ports/lease.ts";
import type { Store } from "./ports/store.ts";
import type { Tool } from "./ports/tool.ts";
import { followRun } from "./run/follow-run.ts";

/** So rarely that a test does not see it: whatever happens was announced. */
const unswept = { sweepMs: 60 * 60_000 };

function start(
  store: Store,
  script: Script,
  settings: EngineSettings & { readonly tools?: readonly Tool[] } = {},
) {
  const model = scriptedModel(script);
  const engine = createEngine({ store, model, ...settings });
  onTestFinished(() => engine.stop());
  return { engine, model };
}

async function ask(
  engine: Engine,
  text: string,
  clientId?: string,
  name = "a conversation",
): Promise<AcceptedMessage> {
  const session = await engine.open(name);
  const sent = await engine.send({ session, text, ...(clientId !== undefined && { clientId }) });
  if (sent.status !== "accepted") throw new Error(sent.message);
  return sent;
}

async function answerTo(engine: Engine, sent: AcceptedMessage): Promise<string> {
  let text = "";
  for await (const piece of engine.answer(sent)) text += piece;
  return text;
}

test("a run uses the tools of its engine, and following ends with the run", async () => {
  const dice = createTool("roll", async () => okResult("a four"));
  const script = [[calls("roll")], [says("It is a four.")]];
  const { engine, model } = start(createReferenceStore(), script, { tools: [dice], ...unswept });
  const sent = await ask(engine, "Roll a die.");
  expect(await answerTo(engine, sent)).toBe("It is a four.");
  expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
    ["roll"],
    ["roll"],
  ]);
  expect(JSON.stringify(model.requests[1]?.messages)).toContain("a four");
});

test("the text of an answer leaves out what the model thought", async () => {
  const { engine } = start(createReferenceStore(), [[thinks("Hm."), says("Yes.")]]);
  expect(await answerTo(engine, await ask(engine, "Hello"))).toBe("Yes.");
});

test.each([
  ["once", "It is a four.", 1],
  ["deny", "Then not.", 0],
] as const)(
  "a run continues at once after its approval is answered with %s",
  async (decision, answer, runs) => {
    let rolls = 0;
    const dice: Tool = {
      ...createTool("roll", async () => ((rolls += 1), okResult("a four"))),
      approval: () => "ask",
    };
    const script = [[calls("roll")], [says(answer)]];
    const { engine } = start(createReferenceStore(), script, { tools: [dice], ...unswept });
    const sent = await ask(engine, "Roll a die.");
    const approval = assertPresent(await approvalAsked(engine, sent));
    expect(await engine.answerApproval(approval, decision)).toMatchObject({ status: "answered" });
    expect(await answerTo(engine, sent)).toBe(answer);
    expect(rolls).toBe(runs);
  },
);

async function approvalAsked(engine: Engine, { session }: AcceptedMessage) {
  for await (const item of engine.follow({ session }))
    for (const event of item.kind === "events" ? item.events : [])
      if (event.type === "approval.asked") return approvalId.parse(event.data["approvalId"]);
  return undefined;
}

test("another engine finds a session by its name, and each owner has separate names", async () => {
  const store = createReferenceStore();
  const [first, second] = [start(store, []).engine, start(store, []).engine];
  const session = await first.open("support");
  expect(await second.open("support")).toBe(session);
  expect(await first.open("sales")).not.toBe(session);
  expect(await first.open("support", ownerId.parse("another"))).not.toBe(session);
});

test("a message that is sent twice is answered once", async () => {
  const { engine, model } = start(createReferenceStore(), [says("Yes.")]);
  const first = await ask(engine, "Hello", "the-same");
  expect(await answerTo(engine, first)).toBe("Yes.");
  const again = await ask(engine, "Hello", "the-same");
  expect(again).toMatchObject({ runId: first.runId, seq: first.seq, repeated: true });
  expect(model.requests).toHaveLength(1);
});

test("following an ended run ends, wherever the reader starts", async () => {
  const { engine } = start(createReferenceStore(), [says("Yes."), says("Still.")]);
  const sent = await ask(engine, "Hello");
  expect(await answerTo(engine, sent)).toBe("Yes.");
  expect(await answerTo(engine, sent)).toBe("Yes.");
  const { head } = assertPresent(
    await engine.log.store.reads.session(ownerId.parse("owner"), sent.session),
  );
  expect(await answerTo(engine, { ...sent, seq: head })).toBe("");
  await answerTo(engine, await ask(engine, "And now?"));
  expect(await answerTo(engine, { ...sent, seq: head })).toBe("");
});

test("following a run ends if it ended before its reader was sent back to read again", async () => {
  const store = createReferenceStore();
  const held = createGate();
  const { engine } = start(store, [[says("Yes."), gate(held.promise)]]);
  const { session, runId, seq } = await ask(engine, "Hello");
  const run = { owner: ownerId.parse("owner"), session, runId, after: seq };
  async function* sentBack(): AsyncGenerator<TailItem> {
    held.open();
    for await (const _ of engine.follow({ session, until: runId }));
    yield { kind: "resync", head: seq };
    await new Promise(() => {});
  }
  const kinds: string[] = [];
  for await (const { kind } of followRun(store.reads, run, sentBack())) kinds.push(kind);
  expect(kinds).toEqual(["resync"]);
});

/** Readers of this engine's log fall behind after a few events. */
function startWithShortFeeds(script: Script, feeds: LogOptions) {
  const log = createLog(createReferenceStore(), feeds);
  const engine = createEngine({ log, model: scriptedModel(script) });
  onTestFinished(() => engine.stop());
  return engine;
}

async function rename({ log }: Engine, session: SessionId, times: number): Promise<void> {
  for (let n = 0; n < times; n += 1)
    await log.changeSession(ownerId.parse("owner"), session, { title: `Title ${n}` }, null);
}

test("a run that has ended is followed to its end, however many pages it takes", async () => {
  const engine = startWithShortFeeds([says("Yes.")], { pageSize: 3 });
  const session = await engine.open("a conversation");
  await rename(engine, session, 5);
  const sent = await ask(engine, "Hello");
  expect(await answerTo(engine, sent)).toBe("Yes.");
  const seen: StoredEvent[] = [];
  for await (const item of engine.follow({ session, until: sent.runId }))
    if (item.kind === "events") seen.push(...item.events);
  expect(seen.at(-1)).toMatchObject({ type: "run.state", data: { state: "completed" } });
});

test("following a run that has ended ends although the session moves on meanwhile", async () => {
  const store = createReferenceStore();
  const { engine } = start(store, [says("Yes.")]);
  const sent = await ask(engine, "Hello");
  expect(await answerTo(engine, sent)).toBe("Yes.");
  const owner = ownerId.parse("owner");
  const { head } = assertPresent(await store.reads.session(owner, sent.session));
  await rename(engine, sent.session, 1);
  const reads: Store["reads"] = {
    ...store.reads,
    async session(...query) {
      const row = await store.reads.session(...query);
      await rename(engine, sent.session, 1);
      return row;
    },
  };
  const late = start({ ...store, reads }, [], { runs: "elsewhere" }).engine;
  expect(await answerTo(late, { ...sent, seq: head })).toBe("");
});

test("an answer is whole although its session has moved far on", async () => {
  const engine = startWithShortFeeds([says("Yes.")], { maxBehind: 10 });
  const sent = await ask(engine, "Hello");
  expect(await answerTo(engine, sent)).toBe("Yes.");
  await rename(engine, sent.session, 20);
  expect(await answerTo(engine, sent)).toBe("Yes.");
});

test("an answer is whole for a reader that is overtaken", async () => {
  const paused = createGate();
  const script = [[says("One. "), gate(paused.promise), says("Two.")]];
  const engine = startWithShortFeeds(script, { ring: { events: 2, bytes: 1e6 } });
  const sent = await ask(engine, "Hello");
  const pieces = engine.answer(sent)[Symbol.asyncIterator]();
  expect(await pieces.next()).toEqual({ done: false, value: "One. " });
  await rename(engine, sent.session, 5);
  paused.open();
  expect(await answerTo(engine, sent)).toBe("One. Two.");
  let rest = "";
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next())
    rest += next.value;
  expect(rest).toBe("Two.");
});

test("[P4] the next engine on the store continues the run of a dead process", async () => {
  const store = createReferenceStore();
  const dead = aHolder({ nonce: "dead" });
  const identity: ProcessIdentity = { holder: () => dead, isDead: () => "unknown" };
  const stuck = createGate();
  const { engine: first } = start({ ...store, identity }, [[says("It was "), gate(stuck.promise)]]);
  const sent = await ask(first, "A story, please.");
  const seen = await first.answer(sent)[Symbol.asyncIterator]().next();
  expect(seen.value).toBe("It was ");
  const survivor: ProcessIdentity = {
    holder: () => aHolder(),
    isDead: ({ nonce }) => (nonce === "dead" ? "dead" : "unknown"),
  };
  const second = start({ ...store, identity: survivor }, [says("a dark night.")]);
  expect(await answerTo(second.engine, sent)).toBe("It was a dark night.");
  stuck.open();
});

test("[P10] an engine commits completed turns to its memory before it stops", async () => {
  const memory = new RecordingMemory("one");
  const { engine } = start(createReferenceStore(), [says("Noted.")], { memory });
  await answerTo(engine, await ask(engine, "I like trains."));
  expect(memory.batches).toEqual([]);
  await engine.stop();
  const said = memory.batches.flatMap(({ turns }) => turns.flatMap(({ messages }) => messages));
  expect(said).toEqual([
    { role: "user", text: "I like trains." },
    { role: "assistant", text: "Noted." },
  ]);
});

test("a memory whose owner could not be stored with a turn is refused at once", () => {
  const memory = new RecordingMemory("two words");
  expect(() =>
    createEngine({ store: createReferenceStore(), model: scriptedModel([]), memory }),
  ).toThrow("memory.owner.configuration: expected a hash.");
});

test("what another memory is owed does not reach the one that the engine was given", async () => {
  const store = createReferenceStore();
  const former = new RecordingMemory("one");
  const away = { current: () => former.owner, open: async () => null };
  const { engine: first } = start(store, [says("Noted.")], { memory: away });
  await answerTo(first, await ask(first, "I like trains."));
  const memory = new RecordingMemory("two");
  const { engine } = start(store, [says("Noted."), says("Noted too.")], { memory });
  const later = await ask(engine, "And planes.");
  await answerTo(engine, later);
  await engine.memory.boundary(ownerId.parse("owner"), later.session, "new_session");
  await answerTo(engine, await ask(engine, "I like ships.", "ships", "another"));
  await engine.stop();
  // The session's later turns wait for the earlier ones.
  expect(memory.spokenTexts.flat()).toEqual(["I like ships."]);
});

test("an engine whose runs happen elsewhere accepts messages and leaves them to another engine", async () => {
  const store = createReferenceStore();
  const { engine, model } = start(store, [says("Never.")], { runs: "elsewhere" });
  const sent = await ask(engine, "Hello");
  const runner = start(store, [says("Here.")], { sweepMs: 10 });
  expect(await answerTo(engine, sent)).toBe("Here.");
  expect(model.requests).toEqual([]);
  expect(runner.model.requests).toHaveLength(1);
});

test("an engine that starts when asked recovers unfinished runs only then", async () => {
  const store = createReferenceStore();
  const before = start(store, [], { runs: "elsewhere" });
  const sent = await ask(before.engine, "Hello");
  const { engine, model } = start(store, [says("Yes.")], { starts: "when asked" });
  const other = start(store, [], { runs: "elsewhere" });
  await other.engine.open("something else");
  expect(model.requests).toEqual([]);
  engine.start();
  expect(await answerTo(engine, sent)).toBe("Yes.");
});

test("the engine starts, notifies and stops the work that follows a run", async () => {
  const invocations: string[] = [];
  const task = {
    start: () => void invocations.push("start"),
    notify: (_owner: unknown, session: string) => void invocations.push(session),
    stop: async () => void invocations.push("stop"),
  };
  const { engine } = start(createReferenceStore(), [says("Yes.")], { afterRun: [task] });
  const sent = await ask(engine, "Hello");
  await answerTo(engine, sent);
  await engine.stop();
  expect(invocations).toEqual(["start", sent.session, "stop"]);
});

test("a message that arrives while a run's lease is being released starts its run at once", async () => {
  const store = createReferenceStore();
  const arrive: (() => Promise<AcceptedMessage>)[] = [];
  const second = Promise.withResolvers<AcceptedMessage>();
  const leases: Store["leases"] = {
    ...store.leases,
    async release(lease) {
      const sent = await arrive.shift()?.();
      if (sent !== undefined) second.resolve(sent);
      return store.leases.release(lease);
    },
  };
  const script = [says("Yes."), says("Again.")];
  const { engine } = start({ ...store, leases }, script, unswept);
  arrive.push(() => ask(engine, "Hello again", "second"));
  expect(await answerTo(engine, await ask(engine, "Hello", "first"))).toBe("Yes.");
  expect(await answerTo(engine, await second.promise)).toBe("Again.");
});

test("a message is answered at once although its session changed while it was claimed", async () => {
  const store = createReferenceStore();
  const changes: (() => Promise<unknown>)[] = [];
  const reads: Store["reads"] = {
    ...store.reads,
    async snapshot(...read) {
      const snapshot = await store.reads.snapshot(...read);
      await changes.shift()?.();
      return snapshot;
    },
  };
  const { engine } = start({ ...store, reads }, [says("Yes.")], unswept);
  const session = await engine.open("a conversation");
  const owner = ownerId.parse("owner");
  // The first read is before the recall, the second is what the claim is made from.
  for (const _ of [1, 2])
    changes.push(() => engine.log.commit({ owner, session, events: [aNotice()] }));
  expect(await answerTo(engine, await ask(engine, "Hello"))).toBe("Yes.");
  expect(changes).toEqual([]);
});

test("an engine closes its store after everything has stopped", async () => {
  const heard: string[] = [];
  const store = { ...createReferenceStore(), close: async () => void heard.push("closed") };
  const task = {
    notify: () => {},
    stop: async () => {
      await Promise.resolve();
      heard.push("stopped");
    },
  };
  const engine = createEngine({ store, model: scriptedModel([]), afterRun: [task] });
  await engine.close();
  expect(heard).toEqual(["stopped", "closed"]);
});

test("a message to a session in the trash is refused", async () => {
  const { engine } = start(createReferenceStore(), []);
  const owner = ownerId.parse("owner");
  const session = await engine.open("support");
  await engine.log.trashSession(owner, session);
  const sent = await engine.send({ session, text: "Hello" });
  expect(sent).toMatchObject({ status: "refused", code: "session_trashed" });
});

test("an engine that is closed can be stopped and closed again", async () => {
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const { engine } = start(createReferenceStore(), [says("Yes.")], { onError });
  await answerTo(engine, await ask(engine, "Hello"));
  await Promise.all([engine.close(), engine.close()]);
  await engine.stop();
  await engine.close();
  expect(errors).toEqual([]);
});
