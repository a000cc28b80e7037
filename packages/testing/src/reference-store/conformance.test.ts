import {
  checkStorePrograms,
  searchCases,
  storeCases,
  type StoreHarness,
} from "@holdfast/engine/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { memoryHarness } from "../testing/index.ts";

describe("the memory store", () => {
  let harness: StoreHarness;
  beforeAll(async () => {
    harness = await memoryHarness.open();
  });
  afterAll(() => harness.close());

  test.each(storeCases)("keeps the port's rules: $title", async ({ run }) => {
    await expect(run(harness)).resolves.toBeUndefined();
  });
  test.each(searchCases)("finds what was written: $title", async ({ run }) => {
    await expect(run(harness)).resolves.toBeUndefined();
  });
  test("does what the model says, in random programs", { timeout: 240_000 }, async () => {
    const checked = checkStorePrograms(harness, { runs: 50, steps: 100 });
    await expect(checked).resolves.toBeUndefined();
  });

  test("is sound after all of it", async () => {
    expect(await harness.fsck?.()).toEqual([]);
  });
});
