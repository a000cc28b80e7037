import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { readHomeFiles } from "./home-files.ts";

test("[safety] an export has no settings with a secret in them, and nothing that a link leads to", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-home-files-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  mkdirSync(join(home, "memory"));
  writeFileSync(join(home, "memory", "MEMORY.md"), "a note");
  writeFileSync(join(home, "token"), "secret");
  symlinkSync(join(home, "token"), join(home, "memory", "linked"));
  const paths = async () => {
    const files = await Array.fromAsync(readHomeFiles(home));
    return files.map(({ path }) => path);
  };
  for (const [settings, expected] of [
    ['{"port":8787}', ["config.json", "memory/MEMORY.md"]],
    ['{"port":8787,"token":"sk-1"}', ["memory/MEMORY.md"]],
    ['{"port":8787,"token":"sk', ["memory/MEMORY.md"]],
  ] as const) {
    writeFileSync(join(home, "config.json"), settings);
    expect(await paths()).toEqual(expected);
  }
});
