import { copyFile, lstat, rm, stat } from "node:fs/promises";
import { basename } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";

import { systemCode } from "../../../util/outcome.ts";

const besides = ["-wal", "-journal"] as const;
const maxTries = 5;
/** In one step: SQLite begins again after each step between which somebody wrote, so that many would never end. */
const allPages = 0x7fff_ffff;

/**
 * Copies a database that another program may be writing, with what is only in its write-ahead log. Files that don't
 * change meanwhile are copied as they are, because even reading a database changes the files beside it; SQLite's backup
 * then reads the copy. A database that is in use is backed up while it is, which its writer doesn't notice.
 */
export async function copyDatabase(file: string, to: string): Promise<void> {
  const draft = `${to}.files`;
  for (let attempt = 1; ; attempt += 1) {
    const before = await stateOf(file);
    const isCopied = await copyFiles(file, draft);
    const isUnchanged = isCopied && (await stateOf(file)) === before;
    if (isUnchanged) {
      await backUp(draft, to, { readOnly: false });
      break;
    }
    if (attempt === maxTries) {
      await backUp(file, to, { readOnly: true });
      break;
    }
  }
  for (const ending of ["", "-shm", ...besides]) await rm(draft + ending, { force: true });
}

async function backUp(from: string, to: string, { readOnly }: { readonly readOnly: boolean }) {
  const database = new DatabaseSync(from, { readOnly });
  try {
    await backup(database, to, { rate: allPages });
  } finally {
    database.close();
  }
}

async function stateOf(file: string): Promise<string> {
  const states = await Promise.all(
    ["", ...besides].map(async (ending) => {
      try {
        // A link or a pipe beside it would be read instead, perhaps without an end.
        const look = ending === "" ? stat : lstat;
        const info = await look(file + ending, { bigint: true });
        if (!info.isFile()) throw new Error(`${basename(file)}${ending} is not a plain file`);
        return `${ending} ${info.ino} ${info.size} ${info.mtimeNs}`;
      } catch (error) {
        if (systemCode(error) === "ENOENT") return "";
        throw error;
      }
    }),
  );
  return states.join("\n");
}

async function copyFiles(file: string, to: string): Promise<boolean> {
  for (const ending of besides) {
    await rm(to + ending, { force: true });
    try {
      await copyFile(file + ending, to + ending);
    } catch (error) {
      if (systemCode(error) !== "ENOENT") throw error;
    }
  }
  await copyFile(file, to);
  return true;
}
