import { createFolder } from "@holdfast/testing/process/folder";
import { expect, test } from "vitest";
import { checkFolders } from "./folder-rule.ts";

const described = { "packages/a/README.md": "| `log/` | the log |" };

function filesIn(folder: string, count: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, number) => [`${folder}/${number}.ts`, ""]),
  );
}

function rulesBrokenBy(files: Record<string, string>): string[] {
  return checkFolders(createFolder(files)).map(({ file, rule }) => `${file} ${rule}`);
}

test("small folders that the README names pass, and tests don't count", () => {
  const tests = { "packages/a/src/log/x.test.ts": "", "packages/a/src/y.test.ts": "" };
  const sources = { ...filesIn("packages/a/src", 5), ...filesIn("packages/a/src/log", 21) };
  expect(rulesBrokenBy({ ...described, ...sources, ...tests })).toEqual([]);
});

test("a sixth file at a package's root is refused", () => {
  expect(rulesBrokenBy(filesIn("packages/a/src", 6))).toEqual(["packages/a/src folder-size"]);
});

test("a folder with too many files is refused", () => {
  expect(rulesBrokenBy({ ...described, ...filesIn("packages/a/src/log", 22) })).toEqual([
    "packages/a/src/log folder-size",
  ]);
});

test("a folder that the README doesn't name is refused", () => {
  const files = { ...described, ...filesIn("packages/a/src/log/deep", 1) };
  expect(rulesBrokenBy(files)).toEqual(["packages/a/src/log/deep folder-described"]);
});
