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

/** A conversation that is held as a tab does it: read from its end, scrolled, and added to. */
function openTalk(length: number) {
  const all = Array.from({ length }, (_, index) => message(index * 3 + 1));
  const entries = all.slice(-page);
  const earlier = length > page ? (entries[0]?.seq ?? null) : null;
  const read = { ...emptySessionRead(id, "own_1" as OwnerId), entries, earlier };
  let held: LoadedEntries = { state: startState(read), detached: null };
  const inSight = (): DetachedRange | SessionState => held.detached ?? held.state;
  const indexOf = (entry: EntryView | undefined): number => all.findIndex((one) => one === entry);
  return {
    all,
    held: () => held,
    inSight,
    look(from: number) {
      const shown = inSight().entries.slice(from, from + 10);
      const [first, last] = [shown[0]?.seq, shown.at(-1)?.seq];
      if (first !== undefined && last !== undefined) held = trimEntries(held, { first, last });
    },
    up() {
      const from = indexOf(inSight().entries[0]);
      const added = all.slice(Math.max(0, from - page), from);
      const above = { entries: added, earlier: from > page ? (added[0]?.seq ?? null) : null };
      const { detached: island, state } = held;
      held =
        island === null
          ? { state: prependEntries(state, above), detached: island }
          : { state, detached: { ...above, entries: [...added, ...island.entries] } };
    },
    down() {
      if (held.detached === null) return;
      const { detached: island } = held;
      const to = indexOf(island.entries.at(-1)) + 1;
      const grown = { ...island, entries: [...island.entries, ...all.slice(to, to + page)] };
      const landed = joinToTail(held.state, grown);
      held = landed === null ? { ...held, detached: grown } : { state: landed, detached: null };
    },
    say() {
      const next = message(all.length * 3 + 1);
      all.push(next);
      held = { ...held, state: { ...held.state, entries: [...held.state.entries, next] } };
    },
  };
}

test("wherever somebody scrolls, what is held has no hole, knows what is above it, and stays small", () => {
  const act = fc.constantFrom("up" as const, "down" as const, "say" as const);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3000 }), fc.array(act, { maxLength: 60 }), (n, acts) => {
      const talk = openTalk(n);
      for (const each of acts) {
        talk[each]();
        const { entries } = talk.inSight();
        talk.look(each === "up" ? 0 : Math.max(0, entries.length - 10));
        for (const stretch of [talk.held().state, talk.inSight()]) {
          const from = talk.all.findIndex((one) => one === stretch.entries[0]);
          const own = talk.all.slice(from, from + stretch.entries.length);
          expect(seqs(stretch.entries)).toEqual(seqs(own));
          expect(stretch.earlier).toBe(from === 0 ? null : stretch.entries[0]?.seq);
          expect(count(stretch.entries)).toBeLessThanOrEqual(600);
        }
        expect(talk.held().state.entries.at(-1)).toBe(talk.all.at(-1));
      }
    }),
    { numRuns: 60 },
  );
});

test("what came late is never parted from the notice below it", () => {
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
  // A margin above what is in sight the cut would fall between the two that came late.
  const first = entries[402 - 1 + 200]?.seq;
  const last = entries.at(-1)?.seq;
  if (first === undefined || last === undefined) throw new Error("no entries");
  const { state: kept } = trimEntries({ state, detached: null }, { first, last });
  expect(seqs(kept.entries).slice(0, 3)).toEqual([9001, 9002, 401]);
  expect(kept.earlier).toBe(401);
});
