import { checkStorePrograms } from "@holdfast/testing/model-check/check-programs";
import { storeCases } from "@holdfast/testing/conformance/store/store-cases";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { sqliteHarness } from "@holdfast/testing/stores/database-harnesses";

describe("the sqlite store", () => {
  let harness: StoreHarness;
  beforeAll(async () => {
    harness = await sqliteHarness.open();
  });
  afterAll(() => harness.close());

  test.each(storeCases)("obeys the port's rule: $title", async ({ run }) => {
    await expect(run(harness)).resolves.toBeUndefined();
  });
  test("behaves like the model in random programs", { timeout: 240_000 }, async () => {
    const checked = checkStorePrograms(harness, { runs: 10, steps: 100 });
    await expect(checked).resolves.toBeUndefined();
  });

  test("is sound after all of it", async () => {
    expect(await harness.fsck?.()).toEqual([]);
  });
});
