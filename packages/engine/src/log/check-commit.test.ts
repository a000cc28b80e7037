import { ids, type NewEvent, newEvent, ownerId, type SessionId } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";

import type { Commit } from "../ports/commit.ts";
import { checkCommit, jsonByteLength, measureJson } from "./check-commit.ts";

const owner = ownerId.parse("someone");
const session = ids.make("session");
const notice = (text: string): NewEvent =>
  newEvent(ids.make("event"), "notice.added", { noticeId: ids.make("notice"), kind: "test", text });
const foreign = (data: unknown): NewEvent =>
  ({ id: ids.make("event"), type: "future.thing", v: 1, data }) as NewEvent;
const commitOf = (...events: NewEvent[]): Commit => ({ owner, session, events });

test("an ordinary commit passes, as do an unknown event type and an optional field that is undefined", () => {
  expect(checkCommit(commitOf(notice("a")))).toBeUndefined();
  expect(checkCommit(commitOf(foreign({ any: [1, null, { deep: "thing" }] })))).toBeUndefined();
  const state = newEvent(ids.make("event"), "run.state", { state: "failed", cause: undefined });
  expect(checkCommit(commitOf(state))).toBeUndefined();
});

describe("a commit that the types forbid is refused at run time", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  const invalid: [string, unknown][] = [
    ["no commit at all", null],
    ["an empty list of events", commitOf()],
    ["events that are not a list", { owner, session, events: "many" }],
    ["an event that is null", { owner, session, events: [null] }],
    ["a session id of another kind", { ...commitOf(notice("a")), session: ids.make("run") }],
    ["an empty session id", { ...commitOf(notice("a")), session: "" as SessionId }],
    ["an owner with a line break", { ...commitOf(notice("a")), owner: "a\nb" }],
    [
      "an event id that is a number",
      commitOf({ ...notice("a"), id: 7 as unknown as NewEvent["id"] }),
    ],
    ["a type in capitals", commitOf({ ...notice("a"), type: "Notice" })],
    ["a fractional version", commitOf({ ...notice("a"), v: 1.5 })],
    ["an invalid run id", commitOf({ ...notice("a"), runId: "x" as NewEvent["runId"] })],
    ["data that is a list", commitOf(foreign([]))],
    ["a number that is not finite", commitOf(foreign({ n: NaN }))],
    ["a date", commitOf(foreign({ at: new Date() }))],
    ["a function", commitOf(foreign({ f: () => 1 }))],
    ["a bigint", commitOf(foreign({ n: 1n }))],
    ["a cycle", commitOf(foreign(cyclic))],
    ["a hole in a list", commitOf(foreign({ list: [undefined] }))],
    ["a fence of zero", { ...commitOf(notice("a")), under: { lease: "run", fence: 0 } }],
    ["an unknown lease kind", { ...commitOf(notice("a")), under: { lease: "x", fence: 1 } }],
    ["an expected head below zero", { ...commitOf(notice("a")), expect: { head: -1 } }],
    ["an unknown pace", { ...commitOf(notice("a")), pace: "later" }],
    ["data that its schema refuses", commitOf({ ...notice("a"), data: { text: 1 } })],
  ];
  test.each(invalid)("%s", (_name, commit) => {
    expect(checkCommit(commit as Commit)).toMatchObject({
      status: "refused",
      code: "invalid_event",
    });
  });

  test("two events with the same id are refused", () => {
    const one = notice("a");
    expect(checkCommit(commitOf(one, { ...notice("b"), id: one.id }))?.code).toBe("invalid_event");
  });
});

describe("size limits", () => {
  const limits = { eventBytes: 1000, commitBytes: 3000, commitEvents: 5 };
  const frame = jsonByteLength(notice("").data);

  test("an event is accepted at its limit, refused one byte above it, and the message suggests a blob", () => {
    expect(checkCommit(commitOf(notice("a".repeat(1000 - frame))), limits)).toBeUndefined();
    const refused = checkCommit(commitOf(notice("a".repeat(1001 - frame))), limits);
    expect(refused).toMatchObject({ code: "payload_too_large" });
    expect(refused?.message).toContain("blob");
  });

  test("the limit counts bytes of JSON, not characters of text", () => {
    expect(checkCommit(commitOf(notice("語".repeat(320))), limits)?.code).toBe("payload_too_large");
    expect(checkCommit(commitOf(notice("\0".repeat(160))), limits)?.code).toBe("payload_too_large");
    expect(checkCommit(commitOf(notice("語".repeat(250))), limits)).toBeUndefined();
  });

  test("a commit is refused for its bytes and for its number of events", () => {
    const large = notice("a".repeat(800));
    const commitOfSize = (n: number): Commit =>
      commitOf(...Array.from({ length: n }, () => ({ ...large, id: ids.make("event") })));
    expect(checkCommit(commitOfSize(3), limits)).toBeUndefined();
    expect(checkCommit(commitOfSize(4), limits)?.code).toBe("payload_too_large");
    const small = Array.from({ length: 6 }, () => notice("a"));
    expect(checkCommit(commitOf(...small), limits)?.code).toBe("payload_too_large");
  });

  test("the estimate is never below the exact size", () => {
    const samples = [
      "",
      'a"\\\n',
      "語😀\ud800",
      [1e-300, -0, true, null],
      { "k\u0001": { a: [] } },
    ];
    for (const sample of samples) {
      const measured = measureJson(sample);
      expect(measured.status === "plain" && measured.atMost >= jsonByteLength(sample)).toBe(true);
    }
  });
});
