import { checkStorePrograms } from "@holdfast/testing/model-check/check-programs";
import { fsckFindings, type StoreHarness } from "@holdfast/testing/conformance/harness";
import { indexedSearchCases } from "@holdfast/testing/conformance/search/indexed-search";
import { searchCases } from "@holdfast/testing/conformance/search/search";
import { storeCases } from "@holdfast/testing/conformance/store/store-cases";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { postgresHarness } from "@holdfast/testing/stores/database-harnesses";

describe("the postgres store", () => {
  let harness: StoreHarness;
  beforeAll(async () => {
    harness = await postgresHarness(createDatabase).open();
  });
  afterAll(() => harness.close());

  test.each(storeCases)("obeys the port's rule: $title", async ({ run }) => {
    await expect(run(harness)).resolves.toBeUndefined();
  });
  test.each([...searchCases, ...indexedSearchCases])(
    "finds what was written: $title",
    async ({ run }) => {
      await expect(run(harness)).resolves.toBeUndefined();
    },
  );
  test("behaves like the model in random programs", { timeout: 240_000 }, async () => {
    const checked = checkStorePrograms(harness, { runs: 6, steps: 100 });
    await expect(checked).resolves.toBeUndefined();
  });

  test("is sound after all of it", async () => {
    expect(await fsckFindings(harness.store)).toEqual([]);
  });
});
