import { searchCases, storeCases, type StoreHarness } from "@holdfast/engine/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { memoryHarness, sqliteHarness } from "./testing/index.ts";

describe.each([memoryHarness, sqliteHarness])(
  "the $name store keeps the port's rules",
  ({ open }) => {
    let harness: StoreHarness;
    beforeAll(async () => {
      harness = await open();
    });
    afterAll(() => harness.close());

    test.each(storeCases)("$title", async ({ run }) => {
      await expect(run(harness)).resolves.toBeUndefined();
    });

    test("and is sound after all of it", async () => {
      expect(await harness.fsck?.()).toEqual(harness.fsck && []);
    });
  },
);

describe.each([memoryHarness])("the $name store finds what is written", ({ open }) => {
  let harness: StoreHarness;
  beforeAll(async () => {
    harness = await open();
  });
  afterAll(() => harness.close());

  test.each(searchCases)("$title", async ({ run }) => {
    await expect(run(harness)).resolves.toBeUndefined();
  });
});
