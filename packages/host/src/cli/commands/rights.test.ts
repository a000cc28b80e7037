import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runHere, serveHere } from "../../../test/support/command-rig.ts";

async function open() {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { settings, close } = await serveHere(home);
  onTestFinished(close);
  return (...args: string[]) => runHere(args, settings);
}

test("a profile can be set, given, listed, taken back and removed", async () => {
  const run = await open();
  const rights = (...args: string[]) => run("rights", ...args);
  expect((await rights()).said).toMatch(
    /^owner\ttools \*; sessions all; memory write; answers app/,
  );
  const readers = ["--tools", "read_file,wiki__*", "--memory-access", "read", "--spend", "2.5"];
  expect(await rights("set", "readers", ...readers)).toMatchObject({
    code: 0,
    said: "readers\ttools read_file,wiki__*; sessions own; memory read; cannot answer approvals; $2.50 a day\n",
  });
  expect(await rights("give", "webhook:ci", "readers")).toMatchObject({
    code: 0,
    said: "webhook:ci: readers\n",
  });
  expect((await rights("list")).said).toContain("webhook:ci\treaders\n");
  const used = await rights("remove", "readers");
  expect([used.code, used.told]).toEqual([
    1,
    expect.stringContaining("rights profile is still assigned"),
  ]);
  expect((await rights("give", "webhook:ci", "default")).said).toBe("webhook:ci: the default\n");
  expect((await rights("remove", "readers")).said).toBe("Removed: readers\n");
});

test.each([
  [["set"], "needs one name"],
  [["set", "x", "--approvals", "maybe"], "--approvals must be yes or no."],
  [["set", "x", "--sessions", "some"], "sessions"],
  [["set", "x", "--spend", "much"], "--spend must be a number"],
  [["give", "everybody", "owner"], "needs a subject and a profile"],
  [["what"], 'There is no "holdfast rights what"'],
])("rights %j says what is wrong with it", async (args, told) => {
  const run = await open();
  const result = await run("rights", ...args);
  expect([result.code, result.told]).toEqual([2, expect.stringContaining(told)]);
});

test("memory says so if no facts wait, and a word that matches none is a usage error", async () => {
  const run = await open();
  expect(await run("memory")).toMatchObject({
    code: 0,
    said: "",
    told: "No facts need your approval.\n",
  });
  const unknown = await run("memory", "keep", "ferry");
  expect([unknown.code, unknown.told]).toEqual([
    2,
    expect.stringContaining("No fact that needs your approval matches"),
  ]);
});

test("facts are added, listed, edited, shown with their history and forgotten by a word", async () => {
  const run = await open();
  const memory = (...args: string[]) => run("memory", ...args);
  expect(await memory("add", "I", "like", "green", "tea")).toMatchObject({
    code: 0,
    said: "Added: I like green tea\n",
  });
  await memory("add", "My boat is red", "--recall");
  expect((await memory("list", "BOAT")).said).toMatch(
    /^[0-9a-f]{8}\twhen it fits\tMy boat is red\n$/,
  );
  expect((await memory("edit", "tea", "--text", "I like black tea")).said).toBe(
    "Changed: I like black tea\n",
  );
  expect((await memory("history", "tea")).said).toMatch(
    /\tperson\n.*\tI like green tea\n.*\tI like black tea\n$/,
  );
  const several = await memory("forget", "e");
  expect([several.code, several.told]).toEqual([2, expect.stringContaining("Several facts match")]);
  expect((await memory("forget", "tea")).said).toBe("Deleted: I like black tea\n");
  expect((await memory("list")).said).not.toContain("tea");
  expect((await memory("edit", "boat")).code).toBe(2);
});
