import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { appendHistory, readHistory } from "./line-input.ts";

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-history-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

test("the chat history is private to its owner and survives a torn file", () => {
  const home = makeHome();
  for (const line of ["one", "two", "one"]) appendHistory(home, line);
  expect(readHistory(home)).toEqual(["two", "one"]);
  expect(statSync(join(home, "chat-history.json")).mode & 0o777).toBe(0o600);
  writeFileSync(join(home, "chat-history.json"), "{ torn");
  expect(readHistory(home)).toEqual([]);
  appendHistory(home, "three");
  expect(readFileSync(join(home, "chat-history.json"), "utf8")).toBe(`["three"]`);
});
