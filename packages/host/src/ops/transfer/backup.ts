import { chmod, cp, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "@holdfast/engine";

import { done, failed, type Outcome, systemCode } from "../../util/outcome.ts";

export interface Backup {
  /** The folder's name below `backups` in the home. */
  readonly name: string;
  readonly folder: string;
  readonly bytes: number;
}

const storeFile = "holdfast.db";
/** P1: a leftover WAL of another store would be replayed into the restored one. */
const logFiles = [`${storeFile}-wal`, `${storeFile}-shm`, `${storeFile}-journal`];
/** What is backed up beside the store. Secrets and the token are not: a backup may be readable by others. */
const includedFolders = ["memory"];

/**
 * A consistent copy made while the host runs: SQLite itself copies the store. It gets its name only when complete.
 * `undefined` if the database's own tools make backups.
 */
export async function makeBackup(
  home: string,
  store: Pick<Store, "backup">,
  now: Date,
): Promise<Backup | undefined> {
  if (store.backup === undefined) return undefined;
  const name = now.toISOString().replaceAll(/[:.]/g, "-");
  const folder = join(home, "backups", name);
  const draft = `${folder}.partial`;
  await mkdir(join(home, "backups"), { recursive: true, mode: 0o700 });
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  try {
    await store.backup(join(draft, storeFile));
    await chmod(join(draft, storeFile), 0o600);
    for (const part of includedFolders)
      if (existsSync(join(home, part)))
        await cp(join(home, part), join(draft, part), { recursive: true, dereference: false });
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
  const { size: bytes } = await stat(join(folder, storeFile));
  return { name, folder, bytes };
}

/** Restores into an empty home only: nothing is overwritten. */
export async function restoreBackup(folder: string, home: string): Promise<Outcome<string>> {
  try {
    if (!existsSync(join(folder, storeFile)))
      return failed("home.unusable", `${folder} is not a backup: there is no ${storeFile} in it.`);
    await mkdir(home, { recursive: true, mode: 0o700 });
    const existing = (await readdir(home)).filter((name) =>
      [storeFile, ...logFiles, ...includedFolders].includes(name),
    );
    if (existing.length > 0)
      return failed(
        "home.unusable",
        `The home ${home} is not empty (${existing.join(", ")}): name a new one with HOLDFAST_HOME.`,
      );
    for (const part of includedFolders)
      if (existsSync(join(folder, part)))
        await cp(join(folder, part), join(home, part), { recursive: true });
    const draft = join(home, `${storeFile}.partial`);
    await cp(join(folder, storeFile), draft);
    await rename(draft, join(home, storeFile));
    return done(join(home, storeFile));
  } catch (error) {
    return failed("home.unusable", `${folder} cannot be restored (${systemCode(error)}).`);
  }
}
