import { emptySessionRead, type Client, createClient, startState } from "@holdfast/client";
import { type EntryView, ids, type OwnerId, type Seq } from "@holdfast/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type DetachedRange, loadRangeAround, joinToTail, loadNewer } from "./entry-ranges.ts";

const id = ids.make("session");

function message(seq: number): EntryView {
  return {
    type: "message",
    role: "user",
    seq: seq as Seq,
    at: seq,
    messageId: ids.make("message"),
    parts: [],
  };
}

/** A host that holds entries at these numbers and pages as the API does. */
function hostWith(numbers: readonly number[]): { client: Client; reads: () => number } {
  const entries = numbers.map(message);
  let reads = 0;
  const client = createClient({
    baseUrl: "http://host",
    async fetch(url) {
      reads++;
      const query = new URL(url).searchParams;
      const before = Number(query.get("before") ?? Infinity);
      const limit = Number(query.get("limit") ?? 100);
      const below = entries.filter(({ seq }) => seq < before);
      const page = below.slice(-limit);
      const earlier = below.length > limit ? (page[0]?.seq ?? null) : null;
      const head = (numbers.at(-1) ?? 0) as Seq;
      const blank = emptySessionRead(id, "own_1" as OwnerId);
      return Response.json({ ...blank, entries: page, earlier, seq: head });
    },
  });
  return { client, reads: () => reads };
}

const seqs = (entries: readonly EntryView[]): number[] => entries.map(({ seq }) => seq);

test("an island is the entry with its neighbours above and below, without a hole", async () => {
  const all = Array.from({ length: 2000 }, (_, index) => index * 3 + 1);
  const { client } = hostWith(all);
  const island = await loadRangeAround(client, id, 2999 as Seq);
  const held = seqs(island?.entries ?? []);
  const first = all.indexOf(held[0] ?? -1);
  expect(held).toEqual(all.slice(first, first + held.length));
  expect(held).toContain(2998);
  expect(held.at(-1)).toBeGreaterThan(2999);
});

test("an island grows over a long silence and lands on what the state holds", async () => {
  const numbers = [1, 2, 3, 1500, 1501, 1502];
  const { client } = hostWith(numbers);
  const read = await client.readSession({ params: { id }, query: { limit: 2 } });
  if (!read.ok) throw new Error("no read");
  const state = startState(read.value);
  expect(seqs(state.entries)).toEqual([1501, 1502]);
  const small = { entries: [message(1), message(2)], earlier: null };
  expect(joinToTail(state, small)).toBe(null);
  const island = await loadNewer(client, id, small, 1501 as Seq);
  const landed = island && joinToTail(state, island);
  expect(seqs(landed?.entries ?? [])).toEqual(numbers);
  expect(landed?.earlier).toBe(null);
});

test("below an island everything is found in few answers, however unevenly it lies", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 20_000 })), {
        minLength: 300,
        maxLength: 700,
      }),
      async (gaps) => {
        let at = 0;
        const numbers = gaps.map((gap) => (at += gap));
        const { client, reads } = hostWith(numbers);
        const first = message(numbers[0] ?? 0);
        let island: DetachedRange = { entries: [first], earlier: null };
        const shore = (numbers.at(-1) ?? 0) as Seq;
        let rounds = 0;
        while ((island.entries.at(-1)?.seq ?? 0) < shore) {
          const grown = await loadNewer(client, id, island, shore);
          if (grown === null) throw new Error("no answer");
          expect(grown.entries.length).toBeGreaterThan(island.entries.length);
          island = grown;
          rounds++;
        }
        expect(seqs(island.entries)).toEqual(numbers);
        expect(reads()).toBeLessThan(12 * rounds);
      },
    ),
    { numRuns: 15 },
  );
});
