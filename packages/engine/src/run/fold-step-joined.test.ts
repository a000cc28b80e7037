import { foldLiveJournal, ids, type StoredEvent } from "@holdfast/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { joinDeltas, seqSpanOf } from "../log/read-views.ts";
import { aMessageId, anEvent, aRunId, toSeq } from "@holdfast/testing/fixtures/factories";
import { deltaRanges, foldStep } from "./fold-step.ts";

const runId = aRunId();
const messageId = aMessageId();
const callId = ids.make("call");

const deltaData = fc.record(
  {
    text: fc.string({ maxLength: 4, unit: "binary" }),
    part: fc.constantFrom(0, 1, 2),
    kind: fc.constantFrom("text" as const, "reasoning" as const),
    opaque: fc.constantFrom({ signature: "a" }, { signature: "b" }),
  },
  { requiredKeys: ["text"] },
);
const event = fc.oneof(
  { weight: 6, arbitrary: deltaData.map((data) => ({ type: "message.delta" as const, data })) },
  { weight: 2, arbitrary: deltaData.map(({ text }) => ({ type: "tool.output" as const, text })) },
  { weight: 1, arbitrary: fc.constant({ type: "tool.started" as const }) },
);
/** With the number of skipped seqs before it, and the time since the previous one. */
const journal = fc
  .array(fc.tuple(event, fc.constantFrom(0, 0, 0, 0, 1), fc.nat(9)), { maxLength: 60 })
  .map((drawn): StoredEvent[] => {
    let [seq, time] = [4, 1_000];
    return drawn.map(([drawnDelta, gap, ms]) => {
      seq += 1 + gap;
      time += ms;
      return { ...eventOf(drawnDelta), seq: toSeq(seq), at: time };
    });
  });

type Drawn =
  | { type: "message.delta"; data: { text: string } }
  | { type: "tool.output"; text: string }
  | { type: "tool.started" };

function eventOf(drawnDelta: Drawn) {
  if (drawnDelta.type === "message.delta")
    return anEvent("message.delta", { messageId, ...drawnDelta.data }, runId);
  if (drawnDelta.type === "tool.output")
    return anEvent("tool.output", { callId, text: drawnDelta.text }, runId);
  const started = {
    callId,
    name: "look",
    input: {},
    resultId: aMessageId(),
    replay: "never",
  } as const;
  return anEvent("tool.started", started, runId);
}

test("a journal with joined deltas is folded, shown and accounted for like the original", () => {
  fc.assert(
    fc.property(journal, (events) => {
      const joined = joinDeltas(events);
      expect(foldStep(joined)).toStrictEqual(foldStep(events));
      expect(deltaRanges(joined)).toStrictEqual(deltaRanges(events));
      expect(foldLiveJournal(runId, joined)).toStrictEqual(foldLiveJournal(runId, events));
      expect(joined.at(-1)?.id).toBe(events.at(-1)?.id);
      const numbers = joined.map(seqSpanOf).reduce((sum, [from, to]) => sum + to - from + 1, 0);
      expect(numbers).toBe(events.length);
    }),
  );
});

test("deltas of the same text become one, and any difference keeps one apart", () => {
  const texts = (...events: readonly ReturnType<typeof eventOf>[]) =>
    joinDeltas(events.map((delta, index) => ({ ...delta, seq: toSeq(index + 1), at: index }))).map(
      ({ data }) => data["text"],
    );
  const delta = (text: string, more: object = {}) =>
    anEvent("message.delta", { messageId, text, ...more }, runId);
  expect(texts(delta("a"), delta("b"), delta("c"))).toEqual(["abc"]);
  expect(texts(delta("a"), delta("b", { part: 1 }), delta("c", { part: 1 }))).toEqual(["a", "bc"]);
  expect(texts(delta("a"), delta("b", { later: {} }), delta("c", { later: {} }))).toEqual([
    "a",
    "b",
    "c",
  ]);
  expect(texts(delta("a"), delta("b", { messageId: aMessageId() }))).toEqual(["a", "b"]);
  const another = anEvent("message.delta", { messageId, text: "b" }, aRunId());
  expect(texts(delta("a"), another)).toEqual(["a", "b"]);
});
