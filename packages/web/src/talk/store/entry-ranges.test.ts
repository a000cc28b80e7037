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

/** A host whose entries have these numbers, paged as the API does. */
function createHost(numbers: readonly number[]): { client: Client; reads: () => number } {
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
      const emptyRead = emptySessionRead(id, "own_1" as OwnerId);
      return Response.json({ ...emptyRead, entries: page, earlier, seq: head });
    },
  });
  return { client, reads: () => reads };
}

const seqs = (entries: readonly EntryView[]): number[] => entries.map(({ seq }) => seq);

test("a range around an entry has its neighbours above and below, without gaps", async () => {
  const all = Array.from({ length: 2000 }, (_, index) => index * 3 + 1);
  const { client } = createHost(all);
  const range = await loadRangeAround(client, id, 2999 as Seq);
  const loaded = seqs(range?.entries ?? []);
  const first = all.indexOf(loaded[0] ?? -1);
  expect(loaded).toEqual(all.slice(first, first + loaded.length));
  expect(loaded).toContain(2998);
  expect(loaded.at(-1)).toBeGreaterThan(2999);
});

test("a range grows across a wide gap of numbers and joins the tail", async () => {
  const numbers = [1, 2, 3, 1500, 1501, 1502];
  const { client } = createHost(numbers);
  const read = await client.readSession({ params: { id }, query: { limit: 2 } });
  if (!read.ok) throw new Error("no read");
  const state = startState(read.value);
  expect(seqs(state.entries)).toEqual([1501, 1502]);
  const start = { entries: [message(1), message(2)], earlier: null };
  expect(joinToTail(state, start)).toBe(null);
  const range = await loadNewer(client, id, start, 1501 as Seq);
  const joined = range && joinToTail(state, range);
  expect(seqs(joined?.entries ?? [])).toEqual(numbers);
  expect(joined?.earlier).toBe(null);
});

test("a range that ends with the first entry of the tail is joined to it, one that ends above is not", () => {
  const [eighth, ninth, tenth, last] = [8, 9, 10, 11].map(message);
  if (!eighth || !ninth || !tenth || !last) throw new Error("There are four.");
  const head = { ...emptySessionRead(id, "own_1" as OwnerId), entries: [tenth, last] };
  const state = startState({ ...head, earlier: tenth.seq, seq: last.seq });
  const joined = joinToTail(state, { entries: [eighth, ninth, tenth], earlier: eighth.seq });
  expect(joined?.entries).toEqual([eighth, ninth, tenth, last]);
  expect(joined?.earlier).toBe(eighth.seq);
  expect(joinToTail(state, { entries: [eighth, ninth], earlier: eighth.seq })).toBeNull();
});

test("everything below a range is loaded in few requests, however uneven the numbers are", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 20_000 })), {
        minLength: 300,
        maxLength: 700,
      }),
      async (gaps) => {
        let last = 0;
        const numbers = gaps.map((gap) => (last += gap));
        const { client, reads } = createHost(numbers);
        const first = message(numbers[0] ?? 0);
        let range: DetachedRange = { entries: [first], earlier: null };
        const tailStart = (numbers.at(-1) ?? 0) as Seq;
        let rounds = 0;
        while ((range.entries.at(-1)?.seq ?? 0) < tailStart) {
          const grown = await loadNewer(client, id, range, tailStart);
          if (grown === null) throw new Error("no answer");
          expect(grown.entries.length).toBeGreaterThan(range.entries.length);
          range = grown;
          rounds++;
        }
        expect(seqs(range.entries)).toEqual(numbers);
        expect(reads()).toBeLessThan(12 * rounds);
      },
    ),
    { numRuns: 15 },
  );
});
