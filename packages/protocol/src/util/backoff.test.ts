import * as fc from "fast-check";
import { expect, test } from "vitest";

import { backoffMs } from "./backoff.ts";

const backoffs = fc
  .tuple(fc.integer({ min: 1, max: 60_000 }), fc.integer({ min: 1, max: 3_600_000 }))
  .map(([firstMs, more]) => ({ firstMs, longestMs: firstMs + more }));
const retries = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0 }));
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test("a wait is never below the first one or above the longest one", () => {
  fc.assert(
    fc.property(backoffs, retries, (backoff, count) => {
      const wait = backoffMs(backoff, count);
      expect(wait).toBeGreaterThanOrEqual(backoff.firstMs);
      expect(wait).toBeLessThanOrEqual(backoff.longestMs);
    }),
  );
});

test("jitter shortens a wait by at most half and never lengthens it", () => {
  fc.assert(
    fc.property(backoffs, retries, random, (backoff, count, drawn) => {
      const full = backoffMs(backoff, count);
      const wait = backoffMs(backoff, count, () => drawn);
      expect(wait).toBeGreaterThanOrEqual(full / 2);
      expect(wait).toBeLessThanOrEqual(full);
    }),
  );
});

test("each wait is twice the one before, up to the longest", () => {
  const waits = [0, 1, 2, 3, 4, 5, 1e9].map((count) =>
    backoffMs({ firstMs: 100, longestMs: 1_000 }, count),
  );
  expect(waits).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000]);
});

test("jitter is spread over the second half of the wait", () => {
  const backoff = { firstMs: 100, longestMs: 1_000 };
  expect(backoffMs(backoff, 1, () => 0)).toBe(100);
  expect(backoffMs(backoff, 1, () => 0.5)).toBe(150);
});
