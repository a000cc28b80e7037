import {
  checkStorePrograms,
  searchCases,
  storeCases,
  type StoreHarness,
} from "@holdfast/engine/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type HarnessFactory, memoryHarness, sqliteHarness } from "./testing/index.ts";

/** One store for all tests of a block: each uses owners and sessions of its own. */
function openOnce({ open }: HarnessFactory): () => StoreHarness {
  let harness: StoreHarness;
  beforeAll(async () => {
    harness = await open();
  });
  afterAll(async () => {
    expect(await harness.fsck?.()).toEqual(harness.fsck && []);
    await harness.close();
  });
  return () => harness;
}

describe.each([memoryHarness, sqliteHarness])("the $name store keeps the port's rules", (store) => {
  const harness = openOnce(store);
  test.each(storeCases)("$title", async ({ run }) => {
    await expect(run(harness())).resolves.toBeUndefined();
  });
});

describe.each([memoryHarness])("the $name store finds what was written", (store) => {
  const harness = openOnce(store);
  test.each(searchCases)("$title", async ({ run }) => {
    await expect(run(harness())).resolves.toBeUndefined();
  });
});

const programs = [
  { ...memoryHarness, runs: 50 },
  { ...sqliteHarness, runs: 10 },
];

describe.each(programs)("the $name store does what the model says", ({ runs, ...store }) => {
  const harness = openOnce(store);
  test("in random programs", { timeout: 240_000 }, async () => {
    const checked = checkStorePrograms(harness(), { runs, steps: 100 });
    await expect(checked).resolves.toBeUndefined();
  });
});
