import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

import { copyDatabase } from "./copy-database.ts";
import { HermesDatabase } from "./database.ts";
import type { Report, SourceFolder } from "../reading/folder.ts";

const maxKeptDatabase = 16 * 1024 * 1024;

/** Opens a copy of a `state.db`. `null`: there is none, or it can't be read, which is reported. */
export async function openDatabase(
  folder: SourceFolder,
  path: string,
  copy: string,
  report: Report,
): Promise<HermesDatabase | null> {
  if ((await folder.kind(path)) !== "file") return null;
  const wal = await folder.readStart(`${path}-wal`, 1);
  if (wal !== null && wal.length > 0)
    report({
      code: "leftover",
      outcome: "note",
      path: `${path}-wal`,
      text: "Rows that were only in the write-ahead log were imported too.",
    });
  try {
    await mkdir(dirname(copy), { recursive: true, mode: 0o700 });
    await rm(copy, { force: true });
    await copyDatabase(join(folder.root, path), copy);
    return new HermesDatabase(copy);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "unknown error";
    const bytes = await folder.read(path, maxKeptDatabase);
    report({
      code: "unreadable",
      outcome: "damaged",
      path,
      text: `The database can't be read (${reason}). The page's files were read anyway.`,
      ...(bytes !== null && { bytes }),
    });
    return null;
  }
}
