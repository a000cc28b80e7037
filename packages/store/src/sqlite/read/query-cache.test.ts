import { expect, test } from "vitest";

import { QueryCache } from "./inline-reader.ts";

test("what is kept has a bound, however little each answer says that it is", () => {
  const unchanged = new QueryCache();
  unchanged.setDataVersion(1);
  for (let each = 0; each < 10_000; each += 1) unchanged.set(`session ${each}`, { each }, 0);
  const kept = Array.from({ length: 10_000 }, (_, each) => unchanged.get(`session ${each}`));
  expect(kept.filter((answer) => answer !== undefined).length).toBeLessThan(2_100);
  expect(unchanged.get("session 9999")).toEqual({ value: { each: 9_999 } });
  unchanged.setDataVersion(2);
  expect(unchanged.get("session 9999")).toBeUndefined();
});
