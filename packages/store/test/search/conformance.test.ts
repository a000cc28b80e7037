import { indexedSearchCases } from "@holdfast/testing/conformance/search/indexed-search";
import { searchCases } from "@holdfast/testing/conformance/search/search";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { sqliteHarness } from "@holdfast/testing/stores/database-harnesses";

describe("the sqlite store's search", () => {
  let harness: StoreHarness;
  beforeAll(async () => {
    harness = await sqliteHarness.open();
  });
  afterAll(() => harness.close());

  test.each([...searchCases, ...indexedSearchCases])("$title", async ({ run }) => {
    await expect(run(harness)).resolves.toBeUndefined();
  });
});
