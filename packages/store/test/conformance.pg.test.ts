import { checkStorePrograms } from "@holdfast/testing/model-check/check-programs";
import { fsckFindings, type StoreHarness } from "@holdfast/testing/conformance/harness";
import { indexedSearchCases } from "@holdfast/testing/conformance/search/indexed-search";
import { searchCases } from "@holdfast/testing/conformance/search/search";
import { storeCases } from "@holdfast/testing/conformance/store/store-cases";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { brokenByNewColumns, recordStatements } from "@holdfast/testing/postgres/record-statements";
import { postgresHarness } from "@holdfast/testing/stores/database-harnesses";

import { openPostgresStore } from "../src/postgres/open.ts";

describe("the postgres store", () => {
  let harness: StoreHarness;
  const recorder = recordStatements();
  beforeAll(async () => {
    harness = await postgresHarness(createDatabase).open();
  });
  afterAll(async () => {
    recorder.stop();
    await harness.close();
  });

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

  test("sends no statement that a column of a newer version breaks", async () => {
    const sent = [...recorder.counts.keys()];
    expect(sent.length).toBeGreaterThan(80);
    await using database = await createDatabase();
    await (await openPostgresStore({ url: database.url })).close();
    expect(await brokenByNewColumns(database.url, sent)).toEqual([]);
  });
});
