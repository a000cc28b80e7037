import { createEngine, type Engine } from "@holdfast/engine";
import type { Seq } from "@holdfast/protocol";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import {
  calls,
  gate,
  hang,
  says,
  scriptedModel,
  thinks,
  uses,
} from "@holdfast/testing/fakes/scripted-model";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import {
  createRunner,
  createTool,
  okResult,
  openRunRig,
  untilStreamed,
} from "@holdfast/testing/rigs/run-rig";
import { expect, onTestFinished, test } from "vitest";
import type { RunOutputItem } from "./item.ts";
import { findRunStart, readRunOutput, type RunOutputQuery } from "./read-run-output.ts";

async function readAll(engine: Engine, query: RunOutputQuery): Promise<RunOutputItem[]> {
  const items: RunOutputItem[] = [];
  for await (const item of readRunOutput({ engine, reads: engine.log.store.reads }, query))
    items.push(item);
  return items;
}

const notStates = ({ kind }: RunOutputItem): boolean => kind !== "state";

/** Without times: pruned deltas had earlier ones. */
function contentOf(items: readonly RunOutputItem[]) {
  return items.filter(notStates).map((item) => ({ ...item, at: 0 }));
}

test("a run with reasoning, an approval and a tool puts out each of them once, then its end", async () => {
  const store = createReferenceStore();
  const asking = createTool("look", async () => okResult("a heron"), { approval: () => "ask" });
  const model = scriptedModel([
    [thinks("Hm."), says("Let me look."), calls("look", { at: "pond" }), uses({ input: 3 })],
    [says("A heron.")],
  ]);
  const engine = createEngine({ store, model, tools: [asking] });
  onTestFinished(() => engine.close());
  const session = await engine.open("pond");
  const sent = await engine.send({ session, text: "What is there?" });
  if (sent.status !== "accepted") throw new Error(sent.message);
  const { runId, seq: begun } = sent;
  const owner = (await store.reads.session("owner" as never, session))?.owner;
  if (owner === undefined) throw new Error("There is no session.");

  const items: RunOutputItem[] = [];
  const reads = store.reads;
  for await (const item of readRunOutput({ engine, reads }, { owner, session, runId, begun })) {
    items.push(item);
    if (item.kind === "approval_asked")
      await engine.answerApproval(item.approval.approvalId, "once");
  }
  expect(items.filter(notStates).map(({ kind }) => kind)).toEqual([
    "input",
    "step",
    "reasoning",
    "text",
    "message",
    "call",
    "usage",
    "approval_asked",
    "approval_answered",
    "tool_started",
    "tool_ended",
    "step",
    "text",
    "message",
    "ended",
  ]);
  expect(items.find(({ kind }) => kind === "tool_ended")).toMatchObject({ output: "a heron" });
  expect(items.at(-1)).toMatchObject({ kind: "ended", state: "completed" });

  const start = await findRunStart(reads, { owner, session, runId });
  const again = await readAll(engine, { owner, session, runId, begun: start ?? (0 as Seq) });
  expect(contentOf(again)).toEqual(contentOf(items));
  const text = items.findIndex(({ kind }) => kind === "text");
  const after = items[text]?.seq;
  const rest = await readAll(engine, { owner, session, runId, begun, after });
  expect(contentOf(rest)).toEqual(contentOf(items.slice(text + 1)));
});

test("[P5] a reader of a run that another process took over gets both texts, and that the model was asked again", async () => {
  const store = createReferenceStore();
  const holder = aHolder();
  const rig = await openRunRig(store, {
    model: scriptedModel([[says("It was a dark"), hang]]),
    holder,
  });
  const { runId, seq: begun } = await rig.say("Begin");
  rig.runner.notify(rig.chat.owner, rig.chat.session);
  await untilStreamed(rig, "dark");
  const { owner, session } = rig.chat;
  const engine = createEngine({ log: rig.log, model: scriptedModel([]), runs: "elsewhere" });
  const reading = readAll(engine, { owner, session, runId, begun });
  const second = createRunner(store, rig.log, {
    model: scriptedModel([says(" and stormy night.")]),
    dead: ({ nonce }) => nonce === holder.nonce,
  });
  await second.sweep();
  await second.idle();
  const items = await reading;
  expect(items.filter(notStates).map(({ kind }) => kind)).toEqual([
    "input",
    "step",
    "text",
    "message",
    "notice",
    "asked_again",
    "step",
    "text",
    "message",
    "ended",
  ]);
  await store.prune(1_000);
  const later = await readAll(engine, { owner, session, runId, begun });
  expect(contentOf(later)).toEqual(contentOf(items));
});

test("[P6] a reader that leaves ends only its own reading", async () => {
  const store = createReferenceStore();
  const engine = createEngine({
    store,
    model: scriptedModel([[says("One"), gate(new Promise(() => {}))]]),
  });
  onTestFinished(() => engine.close());
  const session = await engine.open("left");
  const sent = await engine.send({ session, text: "Begin" });
  if (sent.status !== "accepted") throw new Error(sent.message);
  const left = new AbortController();
  const query = { owner: "owner" as never, session, runId: sent.runId, begun: sent.seq };
  const deps = { engine, reads: store.reads };
  const kinds: string[] = [];
  for await (const item of readRunOutput(deps, { ...query, signal: left.signal })) {
    kinds.push(item.kind);
    if (item.kind === "text") left.abort();
  }
  expect(kinds.at(-1)).toBe("text");
  expect((await store.reads.run(query.owner, sent.runId))?.state).toBe("running");
});
