import { storeCases } from "@holdfast/engine/testing";
import { describe, expect, test } from "vitest";

import { memoryHarness } from "./testing/index.ts";

describe.each([memoryHarness])("the $name store keeps the port's rules", ({ open }) => {
  test.each(storeCases)("$title", async ({ run }) => {
    const harness = await open();
    try {
      await run(harness);
      expect(await harness.fsck?.()).toEqual(harness.fsck && []);
    } finally {
      await harness.close();
    }
  });
});
