import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { Jail } from "./jail.ts";
import { walkFiles } from "./walk-files.ts";

async function walk(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-walk-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const jail = await Jail.open(folder);
  if (!jail.ok) throw new Error(jail.refusal.message);
  const found: string[] = [];
  for await (const { path, kind } of walkFiles(jail.value, "."))
    if (kind === "file" && !path.endsWith(".gitignore")) found.push(path);
  return found;
}

/** What git itself ignores, according to `git check-ignore`. */
test.each([
  ["foo/*\n!foo/keep", ["foo/keep"], ["foo/x"]],
  ["/foo", ["a/foo"], ["foo"]],
  ["foo/", ["a/foo"], ["foo/x"]],
  ["foo/**", ["a/foo"], ["foo/x", "foo/a/y"]],
  ["a/**/b", ["b", "z/a/b"], ["a/b", "a/x/b", "a/x/y/b"]],
  ["*.{js,ts}", ["x.js", "x.ts"], ["x.{js,ts}"]],
  ["trail\\ ", ["trail"], ["trail "]],
  ["trail ", ["trail "], ["trail"]],
  ["\\!bang\n\\#hash\n#c", ["#c"], ["!bang", "#hash"]],
  ["[[:space:]]", ["x"], [" "]],
  ["[\\]]x", ["ax"], ["]x"]],
  ["Foo", ["foo", "FOO"], ["Foo"]],
  ["*\n!*/\n!*.md", ["a/b/c.md", "d.md"], ["a/b/c.txt", "d"]],
  ["日*\r\n🙂?\r\n", ["本日"], ["日本", "🙂x"]],
  ["[a-\n\\", ["x", "[b"], []],
])(".gitignore %j keeps %j and excludes %j", async (rules, kept, leftOut) => {
  const files = Object.fromEntries([...kept, ...leftOut].map((path) => [path, ""]));
  const walked = await walk({ ...files, ".gitignore": rules });
  expect(walked.toSorted()).toEqual(kept.toSorted());
});

test("the .gitignore of a deeper folder overrides the ones above", async () => {
  const files = { "x.log": "", "a/x.log": "", "a/b/x.log": "", "a/b/y": "", y: "" };
  const rules = { ".gitignore": "*.log\n", "a/.gitignore": "!x.log\n/b/y\n" };
  expect(await walk({ ...files, ...rules })).toEqual(["a/b/x.log", "a/x.log", "y"]);
});

test("a .gitignore does not apply outside its folder", async () => {
  const files = { "a/x": "", "b/x": "", "a/.gitignore": "x\n../b\n/../b/x\n" };
  expect(await walk(files)).toEqual(["b/x"]);
});
