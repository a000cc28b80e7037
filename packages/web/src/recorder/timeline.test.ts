import { type EventData, type EventType, ids, newEvent, type Seq } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { playbackAt, skipWaits, hasEnded, readTimeline } from "./timeline.ts";

const run = ids.make("run");
const message = ids.make("message");
const approvalId = ids.make("approval");
const callId = ids.make("call");
const resultId = ids.make("message");

function createRecorder() {
  let seq = 0;
  return <T extends EventType>(at: number, type: T, data: EventData<T>, of = run) => {
    seq += 1;
    return { ...newEvent(ids.make("event"), type, data, of), seq: seq as Seq, at };
  };
}

function approvedToolRun() {
  const at = createRecorder();
  const call = { callId, name: "terminal", input: {} };
  return [
    at(1_000, "run.state", { state: "running" }),
    at(1_000, "step.started", { step: 1, model: "small" }),
    at(2_000, "approval.asked", { ...call, approvalId, inputHash: "h" }),
    at(9_000, "approval.answered", { approvalId, decision: "once" }),
    at(9_000, "tool.started", { ...call, resultId, replay: "never" }),
    at(9_500, "step.started", { step: 7, model: "other" }, ids.make("run")),
    at(10_000, "tool.ended", { callId, resultId, outcome: "failed", output: "" }),
    at(10_000, "message.assistant", {
      messageId: message,
      parts: [{ type: "text", text: "Let me look." }],
      timing: [
        [0, 4],
        [600, 8],
      ],
    }),
    at(10_000, "usage.recorded", { model: "small", input: 30, output: 5 }),
    at(10_100, "run.state", { state: "completed" }),
  ];
}

test("a timeline has the models, waits and tools of one run, to the millisecond", () => {
  const timeline = readTimeline(run, approvedToolRun());
  expect(timeline).toMatchObject({ startedAt: 1_000, endedAt: 10_100, state: "completed" });
  expect(timeline?.spans.map(({ kind, name, from, to }) => [kind, name, from, to])).toEqual([
    ["model", "small", 1_000, 2_000],
    ["wait", "terminal", 2_000, 9_000],
    ["tool", "terminal", 9_000, 10_000],
  ]);
  expect(timeline?.tokens).toEqual([{ at: 10_000, input: 30, output: 5 }]);
  expect(timeline !== null && hasEnded(timeline)).toBe(true);
});

test("playback shows text at its stored times and skips waits", () => {
  const timeline = readTimeline(run, approvedToolRun());
  if (timeline === null) throw new Error("nothing was read");
  const textAt = (at: number) =>
    playbackAt(timeline, at).flatMap((moment) => (moment.kind === "text" ? [moment.text] : []));
  expect([1_399, 1_400, 1_999, 2_000].map(textAt)).toEqual([
    [],
    ["Let "],
    ["Let "],
    ["Let me look."],
  ]);
  expect(playbackAt(timeline, 9_700).at(-1)).toMatchObject({ kind: "span", isOver: false });
  expect([1_500, 2_000, 5_000, 9_200].map((at) => skipWaits(timeline, at))).toEqual([
    1_500, 9_000, 9_000, 9_200,
  ]);
});

test("a run that is still going has its text so far, and the events of another run give no timeline", () => {
  const at = createRecorder();
  const events = [
    at(0, "step.started", { step: 1, model: "small" }),
    at(10, "message.delta", { messageId: message, text: "On " }),
    at(30, "message.delta", { messageId: message, text: "it" }),
  ];
  const timeline = readTimeline(run, events);
  expect(timeline?.texts).toEqual([
    {
      id: message,
      text: "On it",
      growth: [
        [10, 3],
        [30, 5],
      ],
    },
  ]);
  expect(timeline?.spans[0]?.to).toBeNull();
  expect(timeline !== null && hasEnded(timeline)).toBe(false);
  expect(readTimeline(ids.make("run"), events)).toBeNull();
});
