import { checkStorePrograms } from "../model-check/check-programs.ts";
import { searchCases } from "../conformance/search/search.ts";
import { storeCases } from "../conformance/store/store-cases.ts";
import { type StoreHarness } from "../conformance/harness.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { referenceHarness } from "../stores/harnesses.ts";

describe("the reference store", () => {
  let harness: StoreHarness;
  beforeAll(async () => {
    harness = await referenceHarness.open();
  });
  afterAll(() => harness.close());

  test.each(storeCases)("obeys the port's rule: $title", async ({ run }) => {
    await expect(run(harness)).resolves.toBeUndefined();
  });
  test.each(searchCases)("finds what was written: $title", async ({ run }) => {
    await expect(run(harness)).resolves.toBeUndefined();
  });
  test("behaves like the model in random programs", { timeout: 240_000 }, async () => {
    const checked = checkStorePrograms(harness, { runs: 50, steps: 100 });
    await expect(checked).resolves.toBeUndefined();
  });

  test("is sound after all of it", async () => {
    expect(await harness.fsck?.()).toEqual([]);
  });
});
