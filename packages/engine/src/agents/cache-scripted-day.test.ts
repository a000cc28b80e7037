import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { expect, test } from "vitest";

import { runScriptedDay } from "@holdfast/testing/rigs/scripted-day";

test("[P9] over a day of 500 turns every request begins with the one before, or the log says why not", async () => {
  const harness = await referenceHarness.open();
  const { requests, stable, explained, acts } = await runScriptedDay(harness.store, {
    turns: 500,
    seed: 1,
  });
  await harness.close();
  expect(stable + explained).toBe(requests);
  expect(requests).toBeGreaterThan(500);
  expect(Object.keys(acts)).toHaveLength(9);
  // What changes a context on purpose is rare, and so is the cost of it.
  expect(stable / requests).toBeGreaterThan(0.9);
}, 120_000);
