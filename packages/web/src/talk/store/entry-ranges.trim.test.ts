import { emptySessionRead, prependEntries, type SessionState, startState } from "@holdfast/client";
import { type EntryView, ids, type OwnerId, type Seq } from "@holdfast/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type DetachedRange, joinToTail, type LoadedEntries, trimEntries } from "./entry-ranges.ts";

const id = ids.make("session");
const page = 100;

function message(seq: number): EntryView {
  const messageId = ids.make("message");
  return { type: "message", role: "user", seq: seq as Seq, at: seq, messageId, parts: [] };
}

const seqs = (entries: readonly EntryView[]): number[] => entries.map(({ seq }) => seq);
const count = (entries: readonly EntryView[]): number => entries.length;

/** The loaded entries of a conversation that a tab reads from its end, scrolls and gets messages in. */
function openConversation(length: number) {
  const all = Array.from({ length }, (_, index) => message(index * 3 + 1));
  const entries = all.slice(-page);
  const earlier = length > page ? (entries[0]?.seq ?? null) : null;
  const read = { ...emptySessionRead(id, "own_1" as OwnerId), entries, earlier };
  let loaded: LoadedEntries = { state: startState(read), detached: null };
  const shownRange = (): DetachedRange | SessionState => loaded.detached ?? loaded.state;
  const indexOf = (entry: EntryView | undefined): number =>
    all.findIndex((other) => other === entry);
  return {
    all,
    loaded: () => loaded,
    shownRange,
    scrollTo(from: number) {
      const shown = shownRange().entries.slice(from, from + 10);
      const [first, last] = [shown[0]?.seq, shown.at(-1)?.seq];
      if (first !== undefined && last !== undefined) loaded = trimEntries(loaded, { first, last });
    },
    loadEarlier() {
      const from = indexOf(shownRange().entries[0]);
      const added = all.slice(Math.max(0, from - page), from);
      const above = { entries: added, earlier: from > page ? (added[0]?.seq ?? null) : null };
      const { detached, state } = loaded;
      loaded =
        detached === null
          ? { state: prependEntries(state, above), detached }
          : { state, detached: { ...above, entries: [...added, ...detached.entries] } };
    },
    loadLater() {
      if (loaded.detached === null) return;
      const { detached } = loaded;
      const to = indexOf(detached.entries.at(-1)) + 1;
      const grown = { ...detached, entries: [...detached.entries, ...all.slice(to, to + page)] };
      const joined = joinToTail(loaded.state, grown);
      loaded = joined === null ? { ...loaded, detached: grown } : { state: joined, detached: null };
    },
    append() {
      const next = message(all.length * 3 + 1);
      all.push(next);
      loaded = { ...loaded, state: { ...loaded.state, entries: [...loaded.state.entries, next] } };
    },
  };
}

test("however somebody scrolls, the loaded entries have no gaps, know where earlier ones start, and stay few", () => {
  const step = fc.constantFrom("loadEarlier" as const, "loadLater" as const, "append" as const);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3000 }),
      fc.array(step, { maxLength: 60 }),
      (n, steps) => {
        const conversation = openConversation(n);
        for (const name of steps) {
          conversation[name]();
          const { entries } = conversation.shownRange();
          conversation.scrollTo(name === "loadEarlier" ? 0 : Math.max(0, entries.length - 10));
          for (const range of [conversation.loaded().state, conversation.shownRange()]) {
            const from = conversation.all.findIndex((entry) => entry === range.entries[0]);
            const expected = conversation.all.slice(from, from + range.entries.length);
            expect(seqs(range.entries)).toEqual(seqs(expected));
            expect(range.earlier).toBe(from === 0 ? null : range.entries[0]?.seq);
            expect(count(range.entries)).toBeLessThanOrEqual(600);
          }
          expect(conversation.loaded().state.entries.at(-1)).toBe(conversation.all.at(-1));
        }
      },
    ),
    { numRuns: 60 },
  );
});

test("late entries are never separated from the notice below them", () => {
  const notice: EntryView = {
    type: "notice",
    seq: 401 as Seq,
    at: 1,
    noticeId: ids.make("notice"),
    kind: "recovered",
    text: "",
  };
  const late = [9001, 9002].map((seq): EntryView => ({ ...message(seq), above: notice.noticeId }));
  const numbers = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, at) => message(from + at));
  const entries = [...numbers(1, 401), ...late, notice, ...numbers(402, 800)];
  const state = startState({ ...emptySessionRead(id, "own_1" as OwnerId), entries });
  // The cut, 200 entries above the visible ones, would fall between the two late entries.
  const first = entries[402 - 1 + 200]?.seq;
  const last = entries.at(-1)?.seq;
  if (first === undefined || last === undefined) throw new Error("no entries");
  const { state: trimmed } = trimEntries({ state, detached: null }, { first, last });
  expect(seqs(trimmed.entries).slice(0, 3)).toEqual([9001, 9002, 401]);
  expect(trimmed.earlier).toBe(401);
});
