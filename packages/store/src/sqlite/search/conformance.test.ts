import { indexedSearchCases, searchCases, type StoreHarness } from "@holdfast/engine/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { sqliteHarness } from "../../testing/index.ts";

describe("the sqlite store finds what was written", () => {
  let harness: StoreHarness;
  beforeAll(async () => {
    harness = await sqliteHarness.open();
  });
  afterAll(() => harness.close());

  test.each([...searchCases, ...indexedSearchCases])("$title", async ({ run }) => {
    await expect(run(harness)).resolves.toBeUndefined();
  });
});
