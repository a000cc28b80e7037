import { describe, expect, test } from "vitest";

import {
  type EventData,
  type EventType,
  type StoredEvent,
  ownerId,
  type Seq,
  type JsonObject,
} from "@holdfast/protocol";
import { testId } from "@holdfast/testing/session-logs/write-log";
import { emptySessionRead, type SessionState, startState } from "./state.ts";
import { reduceEvent, reduceEvents } from "./reduce.ts";

const runId = testId("run", 1);
const messageId = testId("message", 2);
const blank = startState(emptySessionRead(testId("session", 1), ownerId.parse("me")));

function at<T extends EventType>(seq: number, type: T, data: EventData<T>): StoredEvent {
  return {
    seq: seq as Seq,
    id: testId("event", seq),
    type,
    v: 1,
    at: seq,
    runId,
    data: data as JsonObject,
  };
}

const prompt = testId("message", 1);
const accepted = at(2, "input.accepted", {
  messageId: prompt,
  runId,
  clientId: "c1",
  hash: "h",
  mode: "queue",
  text: "Hello\nthere",
});
const opening = [
  at(1, "session.created", {}),
  accepted,
  at(3, "run.state", { state: "claimed" }),
  at(4, "message.user", { messageId: prompt, parts: [{ type: "text", text: "Hello\nthere" }] }),
  at(5, "run.state", { state: "running" }),
  at(6, "step.started", { step: 1, model: "m" }),
];
const streaming: SessionState = reduceEvents(blank, [
  ...opening,
  at(7, "message.delta", { messageId, text: "Good " }),
]);

describe("the state of a page", () => {
  test("a cut keeps late output for as long as its notice stays", () => {
    const [noticeId, late] = [testId("notice", 1), testId("message", 9)];
    const notice = { noticeId, kind: "interrupted", text: "Interrupted." } as const;
    const state = reduceEvents(streaming, [
      at(8, "notice.added", notice),
      at(9, "message.assistant", {
        messageId: late,
        parts: [{ type: "text", text: "Found late" }],
        above: noticeId,
      }),
    ]);
    const shown = (to: number) => {
      const ranges = [{ from: 1 as Seq, to: to as Seq }];
      const cut = { reason: "undo", ranges, messageCount: 1, preview: "" } as const;
      const { entries } = reduceEvent(state, at(10, "history.cut", { ...cut, ranges }));
      return entries.map(({ seq }) => Number(seq));
    };
    expect(shown(8)).toEqual([4, 9, 8]);
    expect(shown(7)).toEqual([4]);
  });

  test("keeps the attempt of a run until another one begins", () => {
    const second = reduceEvent(streaming, at(8, "run.state", { state: "claimed", attempt: 2 }));
    expect(second.run?.attempt).toBe(2);
    const running = reduceEvent(second, at(9, "run.state", { state: "running" }));
    expect(running.run).toMatchObject({ state: "running", attempt: 2 });
  });

  test("shows accepted input in the inbox, and as an entry once it is claimed", () => {
    const waiting = reduceEvents(blank, opening.slice(0, 2));
    expect(waiting.inbox.map((item) => item.text)).toStrictEqual(["Hello\nthere"]);
    expect(waiting.entries).toStrictEqual([]);
    expect(waiting.session).toMatchObject({
      title: "Hello",
      titleSource: "derived",
      preview: "Hello there",
    });
    expect(streaming.inbox).toStrictEqual([]);
    expect(streaming.entries).toMatchObject([{ type: "message", role: "user", seq: 4 }]);
  });

  test("changes only the live part while text streams in", () => {
    const next = reduceEvent(streaming, at(8, "message.delta", { messageId, text: "day" }));
    expect(next.live?.messages[0]?.parts).toStrictEqual([
      { part: 0, kind: "text", text: "Good day" },
    ]);
    for (const key of ["entries", "inbox", "run", "gaps"] as const)
      expect(next[key]).toBe(streaming[key]);
  });

  test("replaces the live message by the settled one in a single step", () => {
    const settled = at(8, "message.assistant", {
      messageId,
      parts: [{ type: "text", text: "Good day" }],
      deltas: [[7 as Seq, 7 as Seq]],
    });
    const next = reduceEvent(streaming, settled);
    expect(next.live?.messages).toStrictEqual([]);
    expect(next.entries.at(-1)).toStrictEqual({
      type: "message",
      role: "assistant",
      seq: 8,
      at: 8,
      runId,
      messageId,
      parts: [{ type: "text", text: "Good day" }],
    });
  });

  test("keeps what a step has shown when the same step starts again after waiting", () => {
    const again = reduceEvents(streaming, [
      at(8, "run.state", { state: "waiting" }),
      at(9, "run.state", { state: "claimed" }),
      at(10, "step.started", { step: 1, model: "m" }),
    ]);
    expect(again.live).toStrictEqual(streaming.live);
  });

  test("drops the run, its prompt and its live parts together", () => {
    const ended = reduceEvent(streaming, at(8, "run.state", { state: "failed", cause: "model" }));
    expect(ended).toMatchObject({
      live: null,
      run: { state: "failed", cause: "model", endedAt: 8 },
    });
    expect(ended.session).toMatchObject({ liveRun: null, liveState: null, lastState: "failed" });
  });

  test("asks for a new read when no run could have written the missing events", () => {
    const idle = reduceEvents(blank, opening.slice(0, 1));
    const next = reduceEvent(idle, { ...accepted, seq: 3 as Seq });
    expect(next).toMatchObject({ gaps: [[2, 2]], readAgain: "events_lost" });
  });

  test("waits for the settled message when the missing events may be pruned, and asks if it does not name them", () => {
    const gap = reduceEvent(
      streaming,
      at(10, "usage.recorded", { model: "m", input: 1, output: 1 }),
    );
    expect(gap).toMatchObject({ gaps: [[8, 9]], readAgain: null });
    const parts = [{ type: "text" as const, text: "Good day" }];
    const settling = at(11, "message.assistant", {
      messageId,
      parts,
      deltas: [[7 as Seq, 9 as Seq]],
    });
    expect(reduceEvent(gap, settling)).toMatchObject({ gaps: [], readAgain: null });
    const unnamed = at(11, "message.assistant", {
      messageId,
      parts,
      deltas: [[7 as Seq, 8 as Seq]],
    });
    const over = reduceEvents(gap, [unnamed, at(12, "step.started", { step: 2, model: "m" })]);
    expect(over).toMatchObject({ gaps: [[9, 9]], readAgain: "events_lost" });
  });

  test("keeps late output while its notice is visible, and hides it together with the notice", () => {
    const noticeId = testId("notice", 1);
    const late = testId("message", 3);
    const words = (text: string) => [{ type: "text" as const, text }];
    const recovered = reduceEvents(blank, [
      ...opening,
      at(7, "notice.added", { noticeId, kind: "recovering", text: "Looked for." }),
      at(8, "run.state", { state: "interrupted" }),
      at(9, "message.user", { messageId: testId("message", 4), parts: words("Next") }),
      at(10, "message.assistant", { messageId: late, parts: words("Late"), above: noticeId }),
    ]);
    const cutAfter = (last: number) =>
      reduceEvent(
        recovered,
        at(11, "history.cut", {
          reason: "undo",
          ranges: [
            { from: 1 as Seq, to: last as Seq },
            { from: 12 as Seq, to: null },
          ],
          messageCount: 1,
          preview: "",
        }),
      ).entries.map(({ seq }) => seq);
    expect(recovered.entries.map(({ seq }) => seq)).toStrictEqual([4, 10, 7, 9]);
    expect(cutAfter(8)).toStrictEqual([4, 10, 7]);
    expect(cutAfter(4)).toStrictEqual([4]);
  });

  test("does not replace a title by a weaker one", () => {
    const renamed = reduceEvents(blank, [
      at(1, "session.created", {}),
      at(2, "session.changed", { title: "Chosen" }),
      at(3, "session.changed", { title: "Generated", titleSource: "generated" }),
    ]);
    expect(renamed.session).toMatchObject({ title: "Chosen", titleSource: "chosen", revision: 3 });
  });

  test("does not move for quiet events", () => {
    const quiet = reduceEvent(streaming, {
      ...at(9, "notice.added", { noticeId: testId("notice", 1), kind: "k", text: "t" }),
      quiet: true,
    });
    expect(quiet.session).toMatchObject({ activityAt: 7, head: 9 });
    expect(quiet.entries.at(-1)).toMatchObject({ type: "notice", text: "t" });
  });
});
