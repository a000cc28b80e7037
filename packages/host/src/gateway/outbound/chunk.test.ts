import type { ApprovalRow, OutboxRow } from "@holdfast/engine";
import {
  aDelta,
  aRunId,
  aRunState,
  aSettledMessage,
  anOwner,
  toSeq,
} from "@holdfast/testing/fixtures/factories";
import { ids, laneKey, type NewEvent } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";

import { AnswerText } from "./answer-text.ts";
import { nextAction, afterUnknown, type PendingChunk } from "./chunk.ts";

const hour = 60 * 60_000;
const limits = {
  textUnits: 4096,
  buttonBytes: 64,
  fileBytes: 1_000,
  paceMs: () => 0,
  callsPerSecond: 1,
};
const able = { repeats: "shown", edits: true, buttons: true, typing: true, files: true } as const;
const chat = { limits, capabilities: able };
/** What stands there stays as it is. */
const post = { limits, capabilities: { ...able, edits: false } };
const runId = aRunId();

/** An answer's chunk, after these events at noon. */
function jobAfter(events: readonly NewEvent[], row: Partial<OutboxRow> = {}): PendingChunk {
  const text = new AnswerText(runId);
  for (const [index, event] of events.entries())
    text.apply({ ...event, seq: toSeq(index + 1), at: 12 * hour });
  return {
    row: {
      session: ids.make("session"),
      delivery: ids.make("delivery"),
      chunk: 0,
      kind: "answer",
      lane: laneKey.parse("telegram:1:p7:0"),
      runId,
      approvalId: null,
      inbound: null,
      replyTo: null,
      text: null,
      begun: toSeq(1),
      state: "pending",
      from: 0,
      to: 0,
      platformId: null,
      attempts: 0,
      retryAt: null,
      code: null,
      message: null,
      at: 0,
      ...row,
    },
    address: { chat: "7", thread: null, kind: "private" },
    text,
    approval: undefined,
    shownText: null,
    notBefore: 0,
    pendingSince: 0,
  };
}

const asking: ApprovalRow = {
  id: ids.make("approval"),
  session: ids.make("session"),
  owner: anOwner(),
  runId,
  callId: ids.make("call"),
  tool: "terminal",
  input: {},
  inputHash: "",
  askedAt: 0,
  expiresAt: 1,
  state: "open",
  decision: null,
  answeredAt: null,
  details: {},
};
const claimed = aRunState(runId, "claimed");
const ended = [claimed, aSettledMessage(runId, "Done."), aRunState(runId, "completed")];

describe("what becomes of an answer's chunk", () => {
  test("an answer is sent within a day of its run's end, and expires unsent after it", () => {
    const within = nextAction(jobAfter(ended), chat, 12 * hour + 23 * hour);
    expect(within).toMatchObject({ kind: "send", message: { text: "Done." }, isWhole: true });
    const after = nextAction(jobAfter(ended), chat, 12 * hour + 25 * hour);
    expect(after).toMatchObject({ kind: "close", state: "expired" });
  });

  test("what stands there already gets its last form, however late", () => {
    const job = jobAfter(ended, { platformId: "5" });
    expect(nextAction(job, chat, 1_000 * hour)).toMatchObject({ kind: "edit", isWhole: true });
  });

  test("what is still being written is sent as it is, and sent as whole when it is settled", () => {
    const streaming = [claimed, aDelta(runId, "Half of")];
    const live = nextAction(jobAfter(streaming), chat, 12 * hour);
    expect(live).toMatchObject({ kind: "send", message: { text: "Half of" }, isWhole: false });
  });

  test("where nothing can be changed, an answer is sent when it is settled, and a question is asked and done with", () => {
    const streaming = [claimed, aDelta(runId, `${"word ".repeat(2_000)}half of`)];
    expect(nextAction(jobAfter(streaming), post, 12 * hour)).toEqual({ kind: "nothing" });
    expect(nextAction(jobAfter(ended), post, 12 * hour)).toMatchObject({
      kind: "send",
      isWhole: true,
    });
    const asked = { ...jobAfter([claimed], { kind: "approval" }), approval: asking };
    expect(nextAction(asked, chat, 12 * hour)).toMatchObject({ kind: "send", isWhole: false });
    expect(nextAction(asked, post, 12 * hour)).toMatchObject({ kind: "send", isWhole: true });
  });

  test("a line that could not go out for a day is given up", () => {
    const note = jobAfter([], { kind: "note", text: "Done." });
    expect(nextAction(note, chat, 23 * hour)).toMatchObject({ kind: "send" });
    expect(nextAction(note, chat, 25 * hour)).toMatchObject({ kind: "close", state: "expired" });
  });

  test("a stopped run says so behind what it had said, in a message of its own", () => {
    const stopped = [claimed, aSettledMessage(runId, "Half"), aRunState(runId, "cancelled")];
    const first = nextAction(jobAfter(stopped), chat, 12 * hour);
    expect(first).toMatchObject({ message: { text: "Half" }, to: 5 });
    const next = nextAction(jobAfter(stopped, { from: 5, chunk: 1 }), chat, 12 * hour);
    expect(next).toMatchObject({ message: { text: "■ Stopped." } });
  });

  test("a message that steered another run's answer is owed nothing of its own", () => {
    const steered = [aRunState(runId, "completed", { cause: "steered" })];
    expect(nextAction(jobAfter(steered), chat, 12 * hour)).toMatchObject({
      kind: "close",
      state: "dropped",
    });
  });

  test("[P11] what follows an unknown chunk says so, also where nothing else follows", () => {
    const job = jobAfter(ended, { from: 6, to: 6, chunk: 1, code: afterUnknown });
    const marked = nextAction(job, chat, 12 * hour);
    expect(marked).toMatchObject({ kind: "send", isWhole: true });
    expect(JSON.stringify(marked)).toContain("cannot know whether it arrived");
  });
});
