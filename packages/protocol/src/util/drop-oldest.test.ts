import { expect, test } from "vitest";

import { dropOldest } from "./drop-oldest.ts";

test("only the entries that were added last stay in a map or set", () => {
  const set = new Set(["a", "b", "c"]);
  dropOldest(set, 3);
  expect([...set]).toEqual(["a", "b", "c"]);
  dropOldest(set, 1);
  expect([...set]).toEqual(["c"]);
  const map = new Map([
    ["a", 1],
    ["b", 2],
  ]);
  dropOldest(map, 1);
  expect([...map]).toEqual([["b", 2]]);
});
