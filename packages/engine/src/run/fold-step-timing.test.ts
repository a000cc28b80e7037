import * as fc from "fast-check";
import { expect, test } from "vitest";

import { TextBuilder, DeltaTimings } from "./fold-step.ts";

test("up to two thousand deltas keep their own time and length, even after a clock was set back", () => {
  const pair = fc.tuple(fc.integer({ min: -90_000_000, max: 4_000_000_000 }), fc.nat(786_432));
  fc.assert(
    fc.property(fc.array(pair, { maxLength: 50 }), (pairs) => {
      const timing = new DeltaTimings();
      for (const [ms, length] of pairs) timing.add(ms, length);
      expect(timing.pairs()).toEqual(pairs);
    }),
  );
});

test("more are merged in pairs, with the time of the first and the length of both", () => {
  const timing = new DeltaTimings();
  for (let index = 0; index < 2_001; index += 1) timing.add(index * 20 - 40, index % 5);
  const pairs = timing.pairs();
  expect(pairs.slice(0, 3)).toEqual([
    [-40, 1],
    [0, 5],
    [40, 4],
  ]);
  expect(pairs).toHaveLength(1_001);
  expect(pairs.at(-1)).toEqual([39_960, 0]);
});

test("a growing text always reads as everything added so far", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 700, unit: "binary" })), fc.nat(), (pieces, at) => {
      const text = new TextBuilder();
      const some = pieces.slice(0, at % (pieces.length + 1));
      for (const piece of some) text.add(piece);
      expect(text.toString()).toBe(some.join(""));
      for (const piece of pieces.slice(some.length)) text.add(piece);
      expect(text.toString()).toBe(pieces.join(""));
    }),
  );
});
