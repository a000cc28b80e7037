import { mkdir, open, readFile, rename, rmdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** The whole text or what was there before, also after a power cut. */
export async function writeFileAtomically(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.new`;
  const handle = await open(fresh, "w", 0o600);
  try {
    await handle.writeFile(text, "utf8");
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(fresh, file);
}

/** Empty when there is no such file. */
export async function readTextOrEmpty(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}

/** Longer than any of this takes: whoever made a lock that is older is gone. */
const staleMs = 30_000;

/** One process at a time for a file that several write. `busy`: another has it, and it is to be tried again. */
export async function withFileLock<T>(file: string, work: () => Promise<T>): Promise<T | "busy"> {
  const lock = `${file}.lock`;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  if (!(await acquireLock(lock))) return "busy";
  try {
    return await work();
  } finally {
    await rmdir(lock);
  }
}

async function acquireLock(lock: string): Promise<boolean> {
  for (const isLast of [false, true]) {
    try {
      await mkdir(lock);
      return true;
    } catch {
      if (isLast) return false;
      const made = await stat(lock).catch(() => null);
      if (made !== null && Date.now() - made.mtimeMs < staleMs) return false;
      await rmdir(lock).catch(() => undefined);
    }
  }
  return false;
}
