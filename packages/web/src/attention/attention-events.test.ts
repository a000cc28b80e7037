import { ids, type SessionId } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { createRunWatch, newlyWaiting } from "./attention-events.ts";

const sessionId: SessionId = ids.make("session");

test("only what was not there before is reported, as what it is", () => {
  const waits = (more: { readonly kind?: "question"; readonly plan?: true } = {}) => ({
    approvalId: ids.make("approval"),
    sessionId,
    ...more,
  });
  const old = waits();
  const question = { kind: "question" } as const;
  const now = [old, waits(), waits(question), waits({ ...question, plan: true })];
  expect(newlyWaiting([old], now).map(({ kind }) => kind)).toEqual([
    "approval",
    "question",
    "plan",
  ]);
  expect(newlyWaiting(now, [old])).toEqual([]);
});

test("a long run that ends is reported once; a short or cancelled one is not", () => {
  const watch = createRunWatch();
  const session = (live: boolean, lastState: "completed" | "failed" | "cancelled" | null) => [
    { id: sessionId, liveRun: live ? run : null, lastState, preview },
  ];
  let run = ids.make("run");
  let preview = "The wind turns";
  expect(watch.ended(session(true, null), 0)).toEqual([]);
  expect(watch.ended(session(true, null), 9_000)).toEqual([]);
  expect(watch.ended(session(false, "completed"), 10_000)).toMatchObject([
    { kind: "done", tag: run, sessionId },
  ]);
  expect(watch.ended(session(false, "completed"), 11_000)).toEqual([]);
  run = ids.make("run");
  watch.ended(session(true, "completed"), 20_000);
  expect(watch.ended(session(false, "completed"), 29_999)).toEqual([]);
  watch.ended(session(true, "completed"), 30_000);
  expect(watch.ended(session(false, "cancelled"), 60_000)).toEqual([]);
  preview = "Nothing new.";
  watch.ended(session(true, "cancelled"), 62_000);
  expect(watch.ended(session(false, "completed"), 69_000 + 4_000)).toEqual([]);
  watch.ended(session(true, "cancelled"), 74_000);
  expect(watch.ended(session(false, "failed"), 90_000)).toMatchObject([{ kind: "failed" }]);
});
