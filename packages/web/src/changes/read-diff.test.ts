import { expect, test } from "vitest";

import { readDiff } from "./read-diff.ts";

test("each line has its number in the file, and what was removed the number it had", () => {
  const diff = [
    "@@ -3,3 +3,4 @@",
    " same",
    "-old",
    "+new",
    "+--- more",
    " end",
    "@@ -20,1 +21,0 @@",
    "-gone",
    "\\ No newline at end of file",
  ].join("\n");
  const { lines, added, removed, isCut } = readDiff(diff);
  expect(lines.map(({ kind, line, text }) => [kind, line, text])).toEqual([
    ["place", 3, "@@ -3,3 +3,4 @@"],
    ["same", 3, "same"],
    ["removed", 4, "old"],
    ["added", 4, "new"],
    ["added", 5, "--- more"],
    ["same", 6, "end"],
    ["place", 21, "@@ -20,1 +21,0 @@"],
    ["removed", 20, "gone"],
  ]);
  expect([added, removed, isCut]).toEqual([2, 2, false]);
});

test("a diff that the host cut says so, and its note is no line", () => {
  const cut = readDiff("@@ -1,1 +1,2 @@\n+a\n[the rest of the diff is left out]");
  expect([cut.isCut, cut.lines.length]).toEqual([true, 2]);
  expect(readDiff("")).toEqual({ lines: [], added: 0, removed: 0, isCut: false });
});
