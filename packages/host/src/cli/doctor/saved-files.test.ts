import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { LocalFileSnapshots } from "../../agent/snapshots/local-snapshots.ts";
import { noteRemoval } from "../../agent/snapshots/saved-size.ts";
import { checkSavedFiles } from "./saved-files.ts";

test("doctor says how much is kept to undo files, and warns for a month if some of it had to go", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-saved-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const folder = join(home, "snapshots");
  mkdirSync(folder);
  writeFileSync(join(folder, "not-a-workspace"), "");
  const source = { from: "default" } as const;
  const config = { home: { value: home, source }, snapshotSize: { value: 100, source } };
  const now = Date.UTC(2026, 0, 20);
  expect(await checkSavedFiles(config, now)).toMatchObject({
    state: "good",
    words: "0 of 100 MB used to undo changes to files",
  });
  const snapshots = new LocalFileSnapshots({ folder, git: null });
  await snapshots.put(snapshots.workspaceOf(home), new TextEncoder().encode("kept"));
  await noteRemoval(folder, { at: now, upTo: now - 1_000, bytes: 5 });
  const found = await checkSavedFiles(config, now + 29 * 86_400_000);
  expect(found).toMatchObject({ state: "care" });
  expect(found.words).toMatch(/^1 of 100 MB .*can no longer be undone$/);
  expect(await checkSavedFiles(config, now + 31 * 86_400_000)).toMatchObject({ state: "good" });
});
