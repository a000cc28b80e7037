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
/** P1: a log of another store that is left behind would be played into the one that is restored beside it. */
const logFiles = [`${storeFile}-wal`, `${storeFile}-shm`, `${storeFile}-journal`];
/** What is worth keeping beside the store. Secrets and the token are not: a backup may lie where others read. */
const includedFolders = ["memory"];

/**
 * A consistent copy of everything, made while the host runs: SQLite itself copies the store. It has its name only when it is
 * whole. `undefined`: this store is copied by its own database's tools.
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
    for (const each of includedFolders)
      if (existsSync(join(home, each)))
        await cp(join(home, each), join(draft, each), { recursive: true, dereference: false });
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
  const { size: bytes } = await stat(join(folder, storeFile));
  return { name, folder, bytes };
}

/** Into a home that holds nothing yet: what is there is never written over. */
export async function restoreBackup(folder: string, home: string): Promise<Outcome<string>> {
  try {
    if (!existsSync(join(folder, storeFile)))
      return failed("home.unusable", `${folder} is not a backup: there is no ${storeFile} in it.`);
    await mkdir(home, { recursive: true, mode: 0o700 });
    const taken = (await readdir(home)).filter((name) =>
      [storeFile, ...logFiles, ...includedFolders].includes(name),
    );
    if (taken.length > 0)
      return failed(
        "home.unusable",
        `The home ${home} is not empty (${taken.join(", ")}): name a new one with HOLDFAST_HOME.`,
      );
    for (const each of includedFolders)
      if (existsSync(join(folder, each)))
        await cp(join(folder, each), join(home, each), { recursive: true });
    const draft = join(home, `${storeFile}.partial`);
    await cp(join(folder, storeFile), draft);
    await rename(draft, join(home, storeFile));
    return done(join(home, storeFile));
  } catch (error) {
    return failed("home.unusable", `${folder} cannot be restored (${systemCode(error)}).`);
  }
}
