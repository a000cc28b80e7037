import { existsSync } from "node:fs";
import { chmod, cp, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { SessionId } from "@holdfast/protocol";
import { runFsck, type Store } from "@holdfast/engine";

import { writeFileAtomically } from "../../util/atomic-file.ts";
import { hasSecretSettings } from "../config/config-files.ts";
import { type ListedBackup, readManifest, writeManifest } from "./backup-manifest.ts";

export const storeFile = "holdfast.db";
/** P1: a leftover WAL of another store would be replayed into the restored one. */
export const logFiles = [`${storeFile}-wal`, `${storeFile}-shm`, `${storeFile}-journal`];
/**
 * What is backed up beside the store. Secrets, their key and the token are not: a backup may be readable by others. Nor
 * are workspaces and saved files, which may be much larger than everything else.
 */
export const includedParts = [
  "memory",
  "skills",
  "agents",
  "allowed-folders",
  "persona.md",
  "persona-synced.json",
  "trust.json",
  "config.json",
];

export interface BackupProgress {
  readonly phase: "copying" | "checking";
  readonly sessions: number;
  readonly events: number;
}

export type MadeBackup =
  | { readonly status: "verified"; readonly folder: string; readonly backup: ListedBackup }
  /** The copy is there, and its name says that it is not to be relied on. */
  | { readonly status: "unverified"; readonly folder: string; readonly reason: string };

type BackedUpStore = Pick<Store, "backup" | "audit" | "now">;

/**
 * A consistent copy made while the host runs: SQLite itself copies the store. It is restored into a scratch home and
 * checked there, and gets its name only then. `undefined` if the database's own tools make backups.
 */
export async function makeBackup(
  home: string,
  store: BackedUpStore,
  now: Date,
  onProgress: (progress: BackupProgress) => void = () => undefined,
): Promise<MadeBackup | undefined> {
  if (store.backup === undefined) return undefined;
  const backups = join(home, "backups");
  const name = now.toISOString().replaceAll(/[:.]/g, "-");
  const [draft, scratch] = ["partial", "checking"].map((end) =>
    join(backups, `${name}.${process.pid}.${end}`),
  ) as [string, string];
  await mkdir(backups, { recursive: true, mode: 0o700 });
  await removeLeftovers(backups);
  try {
    await mkdir(draft, { mode: 0o700 });
    onProgress({ phase: "copying", sessions: 0, events: 0 });
    const heads = await headsOf(store);
    await store.backup(join(draft, storeFile));
    await chmod(join(draft, storeFile), 0o600);
    for (const part of includedParts) await copyPart(home, draft, part);
    const manifest = await writeManifest(draft, now.getTime());
    const checked = await checkCopy({ draft, scratch, heads, onProgress });
    if ("reason" in checked) {
      const folder = join(backups, `${name}-unverified`);
      await rename(draft, folder);
      return { status: "unverified", folder, reason: checked.reason };
    }
    const verified = { ...manifest, ...checked, verifiedAt: Date.now() };
    await writeFileAtomically(join(draft, "backup.json"), JSON.stringify(verified, null, 2));
    const folder = join(backups, name);
    await rename(draft, folder);
    await syncFolder(backups);
    return { status: "verified", folder, backup: { name, ...verified } };
  } finally {
    await rm(draft, { recursive: true, force: true });
    await rm(scratch, { recursive: true, force: true });
  }
}

async function copyPart(home: string, draft: string, part: string): Promise<void> {
  const place = join(home, part);
  if (!existsSync(place)) return;
  if (part === "config.json" && hasSecretSettings(await readFile(place, "utf8"))) return;
  await cp(place, join(draft, part), { recursive: true, dereference: false });
}

const leftover = /\.(\d+)\.(?:partial|checking)$/;
const leftoverAgeMs = 60 * 60_000;

/** Of processes that died; one that is at work has touched its folder lately. */
async function removeLeftovers(backups: string): Promise<void> {
  for (const name of await readdir(backups)) {
    const [, pid] = leftover.exec(name) ?? [];
    if (pid === undefined) continue;
    const { mtimeMs } = await stat(join(backups, name));
    if (isAlive(Number(pid)) || Date.now() - mtimeMs < leftoverAgeMs) continue;
    await rm(join(backups, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

interface Head {
  readonly seq: number;
  readonly hash: string | null;
}

async function headsOf({ audit }: Pick<Store, "audit">): Promise<ReadonlyMap<SessionId, Head>> {
  const heads = new Map<SessionId, Head>();
  for await (const { id } of audit.sessions()) {
    const end = await audit.logEnd(id);
    if (end !== null) heads.set(id, end);
  }
  return heads;
}

interface CopyToCheck {
  readonly draft: string;
  readonly scratch: string;
  readonly heads: ReadonlyMap<SessionId, Head>;
  readonly onProgress: (progress: BackupProgress) => void;
}

/** Restores it as a person would, proves every log and every blob, and misses nothing that was there before. */
async function checkCopy({ draft, scratch, heads, onProgress }: CopyToCheck) {
  const { restoreBackup } = await import("./restore.ts");
  const { openSqliteStore } = await import("@holdfast/store/sqlite");
  const restored = await restoreBackup(draft, scratch);
  if (!restored.ok) return { reason: restored.failure.message };
  const copy = await openSqliteStore({ file: join(scratch, storeFile) });
  try {
    const summary = await runFsck(copy.audit, {
      now: await copy.now(),
      onProgress: (progress) => onProgress({ phase: "checking", ...progress }),
    });
    const [first] = summary.found;
    if (summary.failure !== undefined) return { reason: summary.failure };
    if (first !== undefined) return { reason: `${first.code}: ${first.message}` };
    const here = await headsOf(copy);
    const purged = new Set<SessionId>();
    for await (const { session } of copy.audit.purges()) purged.add(session);
    for (const [session, { seq, hash }] of heads) {
      const found = here.get(session);
      if (found === undefined && purged.has(session)) continue;
      if (found === undefined || found.seq < seq)
        return { reason: `The end of ${session} is missing in the copy.` };
      if (found.seq === seq && found.hash !== hash)
        return { reason: `${session} has another hash in the copy.` };
    }
    const { sessions, events, blobs } = summary;
    return { sessions, events, blobs };
  } finally {
    await copy.close();
  }
}

/** The newest first; a folder without a manifest was made by an earlier version. */
export async function listBackups(home: string): Promise<readonly ListedBackup[]> {
  const backups = join(home, "backups");
  const names = existsSync(backups) ? await readdir(backups) : [];
  const listed = await Promise.all(
    names
      .filter((name) => !leftover.test(name) && existsSync(join(backups, name, storeFile)))
      .map(async (name): Promise<ListedBackup> => {
        const manifest = await readManifest(join(backups, name));
        if (manifest !== null) return { name, ...manifest };
        const { size, mtimeMs } = await stat(join(backups, name, storeFile));
        return { name, ...unknown, createdAt: Math.round(mtimeMs), bytes: size };
      }),
  );
  return listed.toSorted((a, b) => b.createdAt - a.createdAt);
}

const unknown = { files: [], sessions: null, events: null, blobs: null, verifiedAt: null };

/** A rename is durable once its folder is. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
