import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { expect, onTestFinished, test } from "vitest";

import { makeBackup } from "../../ops/transfer/backup.ts";
import { writeManifest } from "../../ops/transfer/backup-manifest.ts";
import { checkBackups } from "./backups.ts";

const dayMs = 24 * 60 * 60_000;
const source = { from: "default" } as const;

function settingsOf(home: string, store?: string) {
  return { home: { value: home, source }, store: { value: store, source } };
}

test("doctor asks for a backup once there is something to lose, and counts verified ones of the last two weeks", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-doctor-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const check = async (at: number) => checkBackups(settingsOf(home), at);
  expect(await check(Date.now())).toEqual([]);
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  onTestFinished(() => store.close());
  const now = Date.now();
  expect(await check(now)).toMatchObject([{ state: "good", words: "There is no backup yet." }]);
  expect(await check(now + 15 * dayMs)).toMatchObject([{ state: "care" }]);

  const made = await makeBackup(home, store, new Date(now));
  if (made === undefined) throw new Error("There is no backup.");
  expect(await check(now + 13 * dayMs)).toMatchObject([{ state: "good" }]);
  const [old] = await check(now + 15 * dayMs);
  expect(old).toMatchObject({ state: "care" });
  expect(old?.words).toContain("two weeks ago");

  // A copy that was never proven is none.
  await writeManifest(made.folder, now);
  expect(await check(now + 15 * dayMs)).toMatchObject([
    { state: "care", words: "There is no verified backup." },
  ]);
  expect(await checkBackups(settingsOf(home, "postgres://db/holdfast"), now)).toEqual([]);
});
