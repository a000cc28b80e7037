import { existsSync } from "node:fs";
import {
  constants,
  copyFile,
  cp,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
} from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { writeFileAtomically } from "../../util/atomic-file.ts";
import { done, failed, type Outcome, systemCode } from "../../util/outcome.ts";
import { unfinishedRestoreFile } from "../config/home.ts";
import { includedParts, logFiles, storeFile, syncFolder } from "./backup.ts";
import { findDamage, readManifest } from "./backup-manifest.ts";

export interface RestoreOptions {
  /** Moves what is there aside, into a folder of the home. */
  readonly existing?: "refused" | "moved aside";
  readonly now?: Date;
}

const parts = [storeFile, ...includedParts];
/** What an empty home has none of; settings may be there already, and stay. */
const irreplaceable = [storeFile, "memory", "skills", "agents"];

/** Copies a backup into a home. What is there is never overwritten. No host may work on it. */
export async function restoreBackup(
  folder: string,
  home: string,
  { existing = "refused", now = new Date() }: RestoreOptions = {},
): Promise<Outcome<string>> {
  try {
    if (!existsSync(join(folder, storeFile)))
      return failed("home.unusable", `${folder} is not a backup: there is no ${storeFile} in it.`);
    const unfinished = await readUnfinished(home);
    if (unfinished !== null && existing === "refused") return refuseHalf(home);
    if (unfinished !== null) return await finish(home, unfinished);
    const manifest = await readManifest(folder);
    const damaged = manifest === null ? null : await findDamage(folder, manifest);
    if (damaged !== null)
      return failed(
        "home.unusable",
        `${folder} is damaged: ${damaged} has changed since the backup was made. Use another backup.`,
      );
    await mkdir(home, { recursive: true, mode: 0o700 });
    const names = await readdir(home);
    const there = names.filter((name) => [...irreplaceable, ...logFiles].includes(name));
    if (there.length > 0 && existing === "refused")
      return failed(
        "home.unusable",
        `The home ${home} is not empty (${there.join(", ")}). Choose a new one with HOLDFAST_HOME, or move its data aside with --replace.`,
      );
    // A copy that was stopped before anything was moved.
    for (const old of names.filter((each) => stagedName.test(each)))
      await rm(join(home, old), { recursive: true, force: true });
    const name = now.toISOString().replaceAll(/[:.]/g, "-");
    const plan = { staged: `restoring-${name}`, aside: `replaced-${name}` };
    const kept = existing === "refused" ? new Set(names) : new Set<string>();
    await stage(folder, join(home, plan.staged), kept);
    await writeFileAtomically(join(home, unfinishedRestoreFile), JSON.stringify(plan));
    return await finish(home, plan);
  } catch (error) {
    return failed("home.unusable", `${folder} cannot be restored (${systemCode(error)}).`);
  }
}

function refuseHalf(home: string): Outcome<never> {
  return failed(
    "home.unusable",
    `A restore into ${home} has not finished. Finish it with the same command and --replace.`,
  );
}

/** Everything is on the disk before anything is moved; a copy that fails leaves nothing behind. */
async function stage(folder: string, staged: string, kept: ReadonlySet<string>): Promise<void> {
  await mkdir(staged, { mode: 0o700 });
  try {
    for (const part of includedParts)
      if (existsSync(join(folder, part)) && !kept.has(part))
        await cp(join(folder, part), join(staged, part), { recursive: true });
    const copy = join(staged, storeFile);
    await copyFile(join(folder, storeFile), copy, constants.COPYFILE_FICLONE);
    const handle = await open(copy, "r+");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    await syncFolder(staged);
  } catch (error) {
    await rm(staged, { recursive: true, force: true });
    throw error;
  }
}

const stagedName = /^restoring-[\w-]+$/;
const unfinishedSchema = z.object({
  staged: z.string().regex(stagedName),
  aside: z.string().regex(/^replaced-[\w-]+$/),
});
type Unfinished = z.infer<typeof unfinishedSchema>;

async function readUnfinished(home: string): Promise<Unfinished | null> {
  const text = await readFile(join(home, unfinishedRestoreFile), "utf8").catch(() => null);
  return text === null ? null : unfinishedSchema.parse(JSON.parse(text));
}

/** With its write-ahead log and its search index, which belong to no other store. */
function isOfStore(name: string): boolean {
  return name === storeFile || logFiles.includes(name) || name.startsWith(`${storeFile}.search`);
}

/** Each step can be done again after a crash; until the last one, no host opens the home. */
async function finish(home: string, plan: Unfinished): Promise<Outcome<string>> {
  const [staged, aside] = [join(home, plan.staged), join(home, plan.aside)];
  for (const part of parts) {
    if (!existsSync(join(staged, part))) continue;
    const replaced = part === storeFile ? (await readdir(home)).filter(isOfStore) : [part];
    for (const name of replaced) {
      if (!existsSync(join(home, name))) continue;
      await mkdir(aside, { recursive: true, mode: 0o700 });
      await rename(join(home, name), join(aside, name));
    }
    await rename(join(staged, part), join(home, part));
  }
  await syncFolder(home);
  await rm(staged, { recursive: true, force: true });
  await rm(join(home, unfinishedRestoreFile), { force: true });
  return done(join(home, storeFile));
}
