import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { writeFileAtomically } from "../../util/atomic-file.ts";
import { version } from "../../util/version.ts";

const count = z.int().nonnegative();
const manifestFile = "backup.json";

const manifestSchema = z.object({
  format: z.literal("holdfast.backup"),
  version: z.literal(1),
  holdfast: z.string(),
  createdAt: count,
  /** Of the store's file. */
  bytes: count,
  /** Every file of the backup but this one. */
  files: z.array(z.object({ path: z.string(), bytes: count, sha256: z.string() })),
  /** Found in the copy when it was checked. */
  sessions: count.nullable(),
  events: count.nullable(),
  blobs: count.nullable(),
  /** When it was restored into a scratch home and proven there. */
  verifiedAt: count.nullable(),
});
export type BackupManifest = z.infer<typeof manifestSchema>;

export interface ListedBackup extends Omit<BackupManifest, "format" | "version" | "holdfast"> {
  /** The folder's name below `backups` in the home. */
  readonly name: string;
}

export async function writeManifest(folder: string, createdAt: number): Promise<BackupManifest> {
  const files = await hashFiles(folder);
  const { size: bytes } = await stat(join(folder, "holdfast.db"));
  const nothing = { sessions: null, events: null, blobs: null, verifiedAt: null };
  const about = { format: "holdfast.backup", version: 1, holdfast: version } as const;
  const manifest = { ...about, createdAt, bytes, files, ...nothing };
  await writeFileAtomically(join(folder, manifestFile), JSON.stringify(manifest, null, 2));
  return manifest;
}

/** `null` for a backup of an earlier version, which has none. */
export async function readManifest(folder: string): Promise<BackupManifest | null> {
  const text = await readFile(join(folder, manifestFile), "utf8").catch(() => null);
  if (text === null) return null;
  try {
    return manifestSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** The first file that is not as it was written; `null` if all are. */
export async function findDamage(
  folder: string,
  { files }: BackupManifest,
): Promise<string | null> {
  const found = new Map((await hashFiles(folder)).map(({ path, sha256 }) => [path, sha256]));
  return files.find(({ path, sha256 }) => found.get(path) !== sha256)?.path ?? null;
}

async function hashFiles(folder: string): Promise<BackupManifest["files"]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => path !== manifestFile)
    .toSorted((a, b) => (a < b ? -1 : 1));
  const files = [];
  for (const path of paths) {
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const chunk of createReadStream(join(folder, path))) {
      hash.update(chunk as Uint8Array);
      bytes += (chunk as Uint8Array).byteLength;
    }
    files.push({ path, bytes, sha256: hash.digest("hex") });
  }
  return files;
}
