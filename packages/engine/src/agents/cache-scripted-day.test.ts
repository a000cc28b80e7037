import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { expect, test } from "vitest";

import { runScriptedDay } from "@holdfast/testing/rigs/scripted-day";

test("[P9] over a day of 500 turns every request starts with the previous one, or the log says why not", async () => {
  const harness = await referenceHarness.open();
  const { requests, stable, explained, acts } = await runScriptedDay(harness.store, {
    turns: 500,
    seed: 1,
  });
  await harness.close();
  expect(stable + explained).toBe(requests);
  expect(requests).toBeGreaterThan(500);
  expect(Object.keys(acts)).toHaveLength(9);
  // Deliberate context changes are rare, and so is their cost.
  expect(stable / requests).toBeGreaterThan(0.9);
}, 120_000);
