import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { settingsTable } from "./describe-settings.ts";

const guide = new URL("../../../../../docs/operations.md", import.meta.url);

test("the guide's settings table matches the code (holdfast config table prints it)", () => {
  const lines = readFileSync(guide, "utf8").split("\n");
  const from = lines.indexOf(settingsTable()[0] ?? "");
  const table = lines.slice(from, lines.indexOf("", from));
  expect(table).toEqual(settingsTable());
});
