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
import { nextAction, afterUnknown, overwritten, type PendingChunk } from "./chunk.ts";

const hourMs = 60 * 60_000;
const limits = {
  textUnits: 4096,
  buttonBytes: 64,
  fileBytes: 1_000,
  paceMs: () => 0,
  callsPerSecond: 1,
};
const capabilities = {
  repeats: "shown",
  edits: true,
  buttons: true,
  typing: true,
  files: true,
} as const;
const chat = { limits, capabilities };
/** A platform that cannot edit messages. */
const withoutEdits = { limits, capabilities: { ...capabilities, edits: false } };
const runId = aRunId();

/** An answer's chunk after these events, all at noon. */
function chunkAfter(events: readonly NewEvent[], row: Partial<OutboxRow> = {}): PendingChunk {
  const text = new AnswerText(runId);
  for (const [index, event] of events.entries())
    text.apply({ ...event, seq: toSeq(index + 1), at: 12 * hourMs });
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
    answered: "here",
    shownText: null,
    notBefore: 0,
    pendingSince: 0,
  };
}

const openApproval: ApprovalRow = {
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

describe("nextAction", () => {
  test("an answer is sent within a day of its run's end, and expires after it", () => {
    const within = nextAction(chunkAfter(ended), chat, 12 * hourMs + 23 * hourMs);
    expect(within).toMatchObject({ kind: "send", message: { text: "Done." }, isWhole: true });
    const after = nextAction(chunkAfter(ended), chat, 12 * hourMs + 25 * hourMs);
    expect(after).toMatchObject({ kind: "close", state: "expired" });
  });

  test("a shown chunk gets its final edit however late", () => {
    const chunk = chunkAfter(ended, { platformId: "5" });
    expect(nextAction(chunk, chat, 1_000 * hourMs)).toMatchObject({ kind: "edit", isWhole: true });
  });

  test("a streaming answer is sent as a partial chunk", () => {
    const streaming = [claimed, aDelta(runId, "Half of")];
    const live = nextAction(chunkAfter(streaming), chat, 12 * hourMs);
    expect(live).toMatchObject({ kind: "send", message: { text: "Half of" }, isWhole: false });
  });

  test("[P11] a message that an older edit has replaced waits for its final text and keeps its notice", () => {
    const row = { platformId: "5", code: overwritten, message: "Above this" };
    const growing = [claimed, aDelta(runId, "Do")];
    expect(nextAction(chunkAfter(growing, row), chat, 12 * hourMs).kind).toBe("nothing");
    const action = nextAction(chunkAfter(ended, row), chat, 12 * hourMs);
    expect(action).toMatchObject({ kind: "edit", message: { text: "Above this\n\nDone." } });
  });

  test("without edits, an answer is sent only when settled, and a question is sent as final", () => {
    const streaming = [claimed, aDelta(runId, `${"word ".repeat(2_000)}half of`)];
    expect(nextAction(chunkAfter(streaming), withoutEdits, 12 * hourMs)).toEqual({
      kind: "nothing",
    });
    expect(nextAction(chunkAfter(ended), withoutEdits, 12 * hourMs)).toMatchObject({
      kind: "send",
      isWhole: true,
    });
    const asked = { ...chunkAfter([claimed], { kind: "approval" }), approval: openApproval };
    expect(nextAction(asked, chat, 12 * hourMs)).toMatchObject({ kind: "send", isWhole: false });
    expect(nextAction(asked, withoutEdits, 12 * hourMs)).toMatchObject({
      kind: "send",
      isWhole: true,
    });
  });

  test("a note that could not be sent for a day expires", () => {
    const note = chunkAfter([], { kind: "note", text: "Done." });
    expect(nextAction(note, chat, 23 * hourMs)).toMatchObject({ kind: "send" });
    expect(nextAction(note, chat, 25 * hourMs)).toMatchObject({ kind: "close", state: "expired" });
  });

  test("a stopped run says so in a message of its own", () => {
    const stopped = [claimed, aSettledMessage(runId, "Half"), aRunState(runId, "cancelled")];
    const first = nextAction(chunkAfter(stopped), chat, 12 * hourMs);
    expect(first).toMatchObject({ message: { text: "Half" }, to: 5 });
    const next = nextAction(chunkAfter(stopped, { from: 5, chunk: 1 }), chat, 12 * hourMs);
    expect(next).toMatchObject({ message: { text: "■ Stopped." } });
  });

  test("a message that steered another run gets no answer of its own", () => {
    const steered = [aRunState(runId, "completed", { cause: "steered" })];
    expect(nextAction(chunkAfter(steered), chat, 12 * hourMs)).toMatchObject({
      kind: "close",
      state: "dropped",
    });
  });

  test("[P11] the chunk after one of unknown fate says so, even if nothing else follows", () => {
    const chunk = chunkAfter(ended, { from: 6, to: 6, chunk: 1, code: afterUnknown });
    const marked = nextAction(chunk, chat, 12 * hourMs);
    expect(marked).toMatchObject({ kind: "send", isWhole: true });
    expect(JSON.stringify(marked)).toContain("cannot know whether it arrived");
  });
});
