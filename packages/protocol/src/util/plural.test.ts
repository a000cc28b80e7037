import { expect, test } from "vitest";

import { plural } from "./plural.ts";

test("a count is written in the form that fits it, with its thousands grouped", () => {
  const forms = { one: "# turn waits", other: "# turns wait" };
  expect([0, 1, 2, 12_345].map((count) => plural(count, forms))).toEqual([
    "0 turns wait",
    "1 turn waits",
    "2 turns wait",
    "12,345 turns wait",
  ]);
});
