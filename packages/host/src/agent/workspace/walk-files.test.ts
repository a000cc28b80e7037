import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { Jail } from "./jail.ts";
import { walkFiles } from "./walk-files.ts";

test("a slow consumer of a large folder yields to other work", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-walk-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of ["a", "b", "c", "d"]) writeFileSync(join(folder, name), "");
  const jail = await Jail.open(folder);
  if (!jail.ok) throw new Error(jail.refusal.message);
  const stopping = new AbortController();
  const seen: string[] = [];
  const walk = async () => {
    for await (const { path } of walkFiles(jail.value, ".", { signal: stopping.signal })) {
      if (seen.push(path) === 1) setImmediate(() => stopping.abort());
      for (const until = performance.now() + 60; performance.now() < until;);
    }
  };
  await expect(walk()).rejects.toThrow("aborted");
  expect(seen).not.toContain("d");
});
