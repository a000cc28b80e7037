import { link, lstat, mkdir, open, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

import { hasSecretSettings } from "../config/config-files.ts";
import { systemCode } from "../../util/outcome.ts";
import { exportedFiles, exportedFolders } from "./format.ts";

export interface HomeFile {
  /** Below the home, with slashes. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** Larger files are not what people write there. */
const maxFileBytes = 64 * 1024 * 1024;

/** Plain files only: a link may lead anywhere. */
export async function* readHomeFiles(home: string): AsyncGenerator<HomeFile> {
  for (const top of [...exportedFiles, ...exportedFolders]) yield* filesBelow(home, top);
}

async function* filesBelow(home: string, path: string): AsyncGenerator<HomeFile> {
  const place = join(home, path);
  const info = await lstat(place).catch(() => null);
  if (info === null) return;
  if (info.isDirectory()) {
    const names = await readdir(place).catch(() => []);
    for (const name of names.toSorted((a, b) => (a < b ? -1 : 1)))
      yield* filesBelow(home, `${path}/${name}`);
    return;
  }
  if (!info.isFile() || info.size > maxFileBytes) return;
  const bytes = await readFile(place).catch(() => null);
  if (path === "config.json" && bytes !== null && hasSecretSettings(bytes.toString("utf8"))) return;
  if (bytes !== null) yield { path, bytes };
}

export type TakenFile = "taken" | "known" | "kept";

let written = 0;

/** What stands in its way: a folder of its name, a file where its folder would be, a name that is too long here. */
const inTheWay: ReadonlySet<string> = new Set(["EEXIST", "EISDIR", "ENOTDIR", "ENAMETOOLONG"]);

/** Appears whole or not at all, and never in place of another one. */
export async function takeHomeFile(home: string, file: HomeFile): Promise<TakenFile> {
  const stored = await readFile(join(home, file.path)).catch(() => null);
  if (stored !== null) return stored.equals(file.bytes) ? "known" : "kept";
  try {
    return await writeHomeFile(home, file);
  } catch (error) {
    if (inTheWay.has(systemCode(error) ?? "")) return "kept";
    throw error;
  }
}

async function writeHomeFile(home: string, { path, bytes }: HomeFile): Promise<"taken"> {
  const place = join(home, path);
  await mkdir(dirname(place), { recursive: true, mode: 0o700 });
  const temporary = `${place}.${process.pid}-${(written += 1)}.new`;
  const handle = await open(temporary, "wx", 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
    await handle.close();
    await link(temporary, place);
    return "taken";
  } finally {
    await handle.close().catch(() => undefined);
    await rm(temporary, { force: true });
  }
}
