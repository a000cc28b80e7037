import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname } from "node:path";

import type { Jail } from "./jail.ts";
import { isAnchored } from "./resolve-path.ts";

const maxOpenFolders = 16;
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Reads many files of a jail, as `Jail.read` does, but keeps their folders open and reads without waiting: only for a
 * thread that does nothing else.
 */
export class FolderReader {
  readonly #jail: Jail;
  readonly #maxBytes: number;
  /** The one that was used last comes last. */
  readonly #open = new Map<string, FileHandle>();

  constructor(jail: Jail, maxBytes: number) {
    this.#jail = jail;
    this.#maxBytes = maxBytes;
  }

  /** `null`: it is no regular file, too large, or cannot be read. The path has no links. */
  async read(path: string): Promise<Buffer | null> {
    // Elsewhere a folder cannot be named by its handle, so each file is looked for from the root.
    if (!isAnchored) return this.#readThroughJail(path);
    const folder = await this.#folder(dirname(path));
    if (folder === null) return null;
    try {
      return readRegularFile(`/proc/self/fd/${folder.fd}/${basename(path)}`, this.#maxBytes);
    } catch {
      return null;
    }
  }

  async close(): Promise<void> {
    for (const handle of this.#open.values()) await handle.close();
    this.#open.clear();
  }

  async #folder(path: string): Promise<FileHandle | null> {
    const known = this.#open.get(path);
    if (known !== undefined) {
      this.#open.delete(path);
      this.#open.set(path, known);
      return known;
    }
    const opened = await this.#jail.openFolder(path);
    if (!opened.ok) return null;
    this.#open.set(path, opened.value);
    const [oldest] = this.#open;
    if (this.#open.size > maxOpenFolders && oldest !== undefined) {
      this.#open.delete(oldest[0]);
      await oldest[1].close();
    }
    return opened.value;
  }

  async #readThroughJail(path: string): Promise<Buffer | null> {
    const read = await this.#jail.read(path, async ({ handle, size }) =>
      size > this.#maxBytes ? null : handle.readFile(),
    );
    return read.ok ? read.value : null;
  }
}

function readRegularFile(path: string, maxBytes: number): Buffer | null {
  // Opening a device may have side effects.
  if (!lstatSync(path).isFile()) return null;
  const file = openSync(path, readFlags);
  try {
    const info = fstatSync(file);
    return info.isFile() && info.size <= maxBytes ? readFileSync(file) : null;
  } finally {
    closeSync(file);
  }
}
