import { expect, test } from "vitest";

import { QueryCache } from "./reads.ts";

test("the cache is bounded even when results claim to have no length", () => {
  const cache = new QueryCache();
  cache.setDataVersion(1);
  for (let index = 0; index < 10_000; index += 1) cache.set(`session ${index}`, { index }, 0);
  const cached = Array.from({ length: 10_000 }, (_, index) => cache.get(`session ${index}`));
  expect(cached.filter((result) => result !== undefined).length).toBeLessThan(2_100);
  expect(cache.get("session 9999")).toEqual({ value: { index: 9_999 } });
  cache.setDataVersion(2);
  expect(cache.get("session 9999")).toBeUndefined();
});
