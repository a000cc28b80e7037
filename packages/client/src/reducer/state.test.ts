import { expect, test } from "vitest";

import type { EntryView, NoticeId, Seq } from "@holdfast/protocol";
import { emptyState } from "@holdfast/testing/session-logs/session-log";
import { testId } from "@holdfast/testing/session-logs/write-log";
import { dropOldEntries, prependEntries } from "./state.ts";

const message = (seq: number, above?: NoticeId): EntryView => ({
  type: "message",
  seq: seq as Seq,
  at: seq,
  messageId: testId("message", seq),
  role: "user",
  parts: [{ type: "text", text: `Message ${seq}` }],
  ...(above && { above }),
});
const messages = (count: number) => Array.from({ length: count }, (_, at) => message(at + 1));

test("a session followed for long keeps its end, and the rest can be read again as a page above it", () => {
  const few = { ...emptyState, entries: messages(600) };
  expect(dropOldEntries(few)).toBe(few);
  const all = messages(601);
  const kept = dropOldEntries({ ...emptyState, entries: all });
  expect(kept.entries).toEqual(all.slice(-300));
  expect(kept.earlier).toBe(kept.entries[0]?.seq);
  const page = { entries: all.slice(0, -300), earlier: null };
  expect(prependEntries(kept, page)).toMatchObject({ entries: all, earlier: null });
});

test("a late entry is not separated from the notice it stands above", () => {
  const notice = testId("notice", 1);
  const all = messages(601).with(300, message(900, notice)).with(299, message(901, notice));
  const kept = dropOldEntries({ ...emptyState, entries: all });
  expect(kept.entries).toEqual(all.slice(299));
  expect(kept.earlier).toBe(all[301]?.seq);
});

test("an earlier page adds each entry once, even a late one that is already shown", () => {
  const notice = testId("notice", 1);
  const late = message(900, notice);
  const state = { ...emptyState, entries: [late, message(3), message(4)], earlier: 3 as Seq };
  const page = { entries: [message(1), message(2), late, message(3)], earlier: null };
  const { entries } = prependEntries(state, page);
  expect(entries.map(({ seq }) => seq)).toEqual([1, 2, 900, 3, 4]);
});
