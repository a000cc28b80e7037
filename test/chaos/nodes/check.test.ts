import type { ApprovalId, CallId, SessionId, StoredEvent } from "@holdfast/protocol";
import { expect, test } from "vitest";

import type { Evidence } from "../processes/evidence.ts";
import type { TimedEntry } from "../processes/history.ts";
import { checkAnswers, checkOnce, compareSuffix, effectsOf } from "./check-nodes.ts";
import { compareResponse } from "./openai-talker.ts";
import { describeFault, faultKinds, scheduleOf } from "./schedule.ts";
import { comparePage } from "./visitor.ts";

const session = "ses_0000000000e0080000000000m1" as SessionId;
const approvalId = "apr_0000000000e0080000000000m1" as ApprovalId;
const callId = "call_0000000000e0080000000000m1" as CallId;
const runId = "run_0000000000e0080000000000m1";

const event = (seq: number, type: string, data: object): StoredEvent =>
  ({
    seq,
    id: `evt_${String(seq).padStart(26, "0")}`,
    type,
    v: 1,
    at: seq,
    runId,
    data,
  }) as unknown as StoredEvent;

const command = "mkdir -p effects; touch effects/effect_7-$(cat /proc/sys/kernel/random/uuid)";
const result = (outcome: string): object => ({
  messageId: "msg_0000000000e0080000000000m2",
  parts: [{ type: "tool_result", callId, name: "terminal", outcome, output: "" }],
});

/** A call that was allowed and run. */
const sound: readonly StoredEvent[] = [
  event(1, "input.accepted", { clientId: "one", parts: [{ type: "text", text: "say page-1" }] }),
  event(2, "message.assistant", {
    messageId: "msg_0000000000e0080000000000m1",
    parts: [{ type: "tool_call", callId, name: "terminal", input: { command } }],
  }),
  event(3, "approval.asked", {
    approvalId,
    callId,
    name: "terminal",
    input: { command },
    inputHash: "0",
    expiresAt: 9,
  }),
  event(4, "approval.answered", { approvalId, decision: "once" }),
  event(5, "tool.started", {
    callId,
    resultId: "msg_0000000000e0080000000000m2",
    name: "terminal",
    input: { command },
    replay: "never",
  }),
  event(6, "message.tool", result("ok")),
];

const request = { act: "answer", session, approvalId, decision: "once" } as const;
const happened: TimedEntry[] = [
  { at: 1, kind: "asked", number: 1, by: "client1", door: "proxy", request },
  { at: 2, kind: "answered", number: 1, answer: { kind: "done" } },
];
const evidenceOf = (log: readonly StoredEvent[]): Evidence => ({
  happened,
  logs: new Map([[session, log]]),
  effects: [],
});

test("an approval that was answered and thrown away is noticed, and one that was honoured is not", () => {
  expect(checkAnswers(evidenceOf(sound))).toEqual([]);
  const without = (type: string) => sound.filter((one) => one.type !== type);
  const denied = [...sound.slice(0, 4), event(5, "message.tool", result("denied"))];
  expect(checkAnswers(evidenceOf(denied)).join()).toContain("was allowed and not run");
  expect(checkAnswers(evidenceOf(without("approval.answered"))).join()).toContain("is not there");
});

test("a message that was lost or accepted twice is noticed", () => {
  expect(checkOnce(evidenceOf(sound), ["page-1"])).toEqual([]);
  expect(checkOnce(evidenceOf([...sound, sound[0]!]), ["page-1"])).toHaveLength(1);
  expect(checkOnce(evidenceOf(sound), ["page-2"])).toHaveLength(1);
});

test("an event that a host leaves out, repeats or moves is noticed", () => {
  const compare = (seen: readonly StoredEvent[]) => compareSuffix("node1", sound, 2, seen);
  const rest = sound.slice(2);
  expect(compare(rest)).toEqual([]);
  expect(compare(rest.slice(1))).toHaveLength(1);
  expect(compare(rest.slice(0, -1))).toHaveLength(1);
  expect(compare([...rest, rest[0]!])).toHaveLength(1);
  expect(compare(rest.toReversed())).toHaveLength(1);
});

test("words that a client of OpenAI was shown and are not stored are noticed", () => {
  const shown = {
    id: "resp_1",
    input: "",
    session: "",
    numbers: [1, 2, 3],
    text: "one two",
    end: "",
  };
  const stored = { output_text: "one two", status: "completed" } as const;
  expect(compareResponse(shown, stored)).toEqual([]);
  expect(compareResponse({ ...shown, text: "one two two" }, stored)).toHaveLength(1);
  expect(compareResponse({ ...shown, text: "one" }, stored)).toHaveLength(1);
  expect(compareResponse({ ...shown, numbers: [1, 3, 3] }, stored)).toHaveLength(1);
  expect(compareResponse(shown, { ...stored, status: "in_progress" })).toHaveLength(1);
});

test("a page that shows too little, too much or something else is noticed", () => {
  const stored = ["a", "b", "c"];
  expect(comparePage(["a", "b Interrupted here.", "c"], stored)).toEqual([]);
  expect(comparePage(["b", "c"], stored)).toHaveLength(1);
  expect(comparePage(["a", "b", "c", "c"], stored)).toHaveLength(1);
  expect(comparePage(["a", "x", "c"], stored)).toHaveLength(1);
});

test("a command that ran more often than it was called is noticed", () => {
  const logs = new Map([[session, sound]]);
  const calls = (files: readonly string[]) => effectsOf(logs, files).map((effect) => effect.callId);
  expect(calls(["effect_7-a"])).toEqual([callId]);
  // The second counts as a repetition of the same call.
  expect(calls(["effect_7-a", "effect_7-b"])).toEqual([callId, callId]);
  expect(calls(["effect_8-a"])).toEqual(["unknown call of effect_8-a"]);
});

test("a seed is one schedule, with each kind of fault in turn", () => {
  const firstOf = (seed: number) => {
    const schedule = scheduleOf(seed);
    return Array.from({ length: 14 }, () => schedule.next().value);
  };
  expect(firstOf(7).map(describeFault)).toEqual(firstOf(7).map(describeFault));
  expect(firstOf(7).map(describeFault)).not.toEqual(firstOf(8).map(describeFault));
  for (const half of [firstOf(7).slice(0, 7), firstOf(7).slice(7)])
    expect(new Set(half.map(({ kind }) => kind))).toEqual(new Set(faultKinds));
});
