import { mkdir, open, readFile, rename, rmdir, stat, utimes } from "node:fs/promises";
import { dirname } from "node:path";

let writes = 0;

/** Leaves the whole text or the previous one, even after a power cut. */
export async function writeFileAtomically(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  // Two processes that write the same file at once must not rename each other's.
  const temporary = `${file}.${process.pid}-${(writes += 1)}.new`;
  const handle = await open(temporary, "w", 0o600);
  try {
    await handle.writeFile(text, "utf8");
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
}

/** Empty if there is no such file. */
export async function readTextOrEmpty(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}

/** A lock that nobody renewed for so long was left by a process that died. */
export const staleLockMs = 30_000;
const renewLockMs = 5_000;

/** Runs `work` under a lock shared by processes. `busy`: another process holds it; try again. */
export async function withFileLock<T>(file: string, work: () => Promise<T>): Promise<T | "busy"> {
  const lock = `${file}.lock`;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  if (!(await acquireLock(lock))) return "busy";
  // Long work must not look like a process that died with the lock.
  const timer = setInterval(() => {
    const now = new Date();
    utimes(lock, now, now).catch(() => undefined);
  }, renewLockMs).unref();
  try {
    return await work();
  } finally {
    clearInterval(timer);
    // Gone if this process stood still for so long that another one took it over.
    await rmdir(lock).catch(() => undefined);
  }
}

async function acquireLock(lock: string): Promise<boolean> {
  for (const isLast of [false, true]) {
    try {
      await mkdir(lock);
      return true;
    } catch {
      if (isLast) return false;
      const lockStat = await stat(lock).catch(() => null);
      if (lockStat !== null && Date.now() - lockStat.mtimeMs < staleLockMs) return false;
      await rmdir(lock).catch(() => undefined);
    }
  }
  return false;
}
