import { emptySessionRead } from "@holdfast/client";
import { ids, type OwnerId, type ScheduleView, type SessionView } from "@holdfast/protocol";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createReadMarks } from "./read-marks.ts";

beforeEach(() => {
  const stored = new Map<string, string>();
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
    removeItem: (key: string) => void stored.delete(key),
  });
  onTestFinished(() => void vi.unstubAllGlobals());
});

function session(sortAt: number): SessionView {
  return { ...emptySessionRead(ids.make("session"), "own_1" as OwnerId).session, sortAt };
}

test("what happened before the first visit counts as read, and later things until they are read", () => {
  const marks = createReadMarks(100);
  const [before, after] = [session(100), session(101)];
  expect([marks.isUnread(before), marks.isUnread(after)]).toEqual([false, true]);
  marks.markRead(after.id, 101);
  expect(marks.isUnread(after)).toBe(false);
  expect(marks.isUnread({ ...after, sortAt: 102 })).toBe(true);
  const reloaded = createReadMarks(500);
  expect([reloaded.isUnread(after), reloaded.isUnread(session(400))]).toEqual([false, true]);
});

test("reports without news leave no mark, and keep that of what was not read before them", () => {
  const marks = createReadMarks(0);
  const row = session(100);
  marks.markRead(row.id, 100);
  const later = { ...row, sortAt: 200 };
  expect([marks.isUnread(later), marks.mayBeQuiet(later)]).toEqual([true, true]);
  const schedule = (newsAt: number, until: number) =>
    [{ quiet: { sessionId: row.id, newsAt, until } }] as unknown as readonly ScheduleView[];
  marks.learn(schedule(90, 200));
  expect([marks.isUnread(later), marks.mayBeQuiet(later)]).toEqual([false, false]);
  expect(marks.isUnread({ ...later, sortAt: 201 })).toBe(true);
  marks.learn(schedule(150, 300));
  expect(marks.isUnread({ ...later, sortAt: 300, preview: "Nothing new." })).toBe(true);
  marks.markRead(row.id, 300);
  expect(marks.isUnread({ ...later, sortAt: 300 })).toBe(false);
});

test("of more than a thousand marks the newest are kept", () => {
  const marks = createReadMarks(0);
  const sessions = Array.from({ length: 1_001 }, (_, index) => session(index + 1));
  for (const { id, sortAt } of sessions) marks.markRead(id, sortAt);
  const reloaded = createReadMarks(0);
  const unread = sessions.filter(reloaded.isUnread).map(({ sortAt }) => sortAt);
  expect(unread).toEqual([1]);
});
