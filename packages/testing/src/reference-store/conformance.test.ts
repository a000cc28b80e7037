import { checkStorePrograms } from "../model-check/check-programs.ts";
import { searchCases } from "../conformance/search/search.ts";
import { storeCases } from "../conformance/store/store-cases.ts";
import { type StoreHarness } from "../conformance/harness.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { referenceHarness } from "../stores/harnesses.ts";

describe("the memory store", () => {
  let harness: StoreHarness;
  beforeAll(async () => {
    harness = await referenceHarness.open();
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
