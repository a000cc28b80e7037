import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, test } from "vitest";

import { pruneRegularly } from "./lifecycle.ts";

test("what has accumulated is deleted in batches, and a look that finds nothing waits for the next", async () => {
  const left = [500, 500, 7, 0];
  const asked: number[] = [];
  const store = {
    ...createReferenceStore(),
    prune: async (limit: number) => {
      asked.push(limit);
      return { status: "pruned", rows: left.shift() ?? 0 } as const;
    },
  };
  const clock = manualClock();
  const stop = new AbortController();
  const done = pruneRegularly(store, clock, stop.signal);
  await nextTurn();
  expect(asked).toHaveLength(0);
  for (const [ms, batches] of [
    [60_000, 1],
    [50, 2],
    [50, 3],
    [50, 3],
    [60_000, 4],
  ] as const) {
    await clock.advance(ms);
    expect(asked).toHaveLength(batches);
  }
  stop.abort();
  await done;
});
