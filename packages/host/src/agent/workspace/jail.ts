import { randomBytes } from "node:crypto";
import { constants, type Dirent, type Stats } from "node:fs";
import {
  type FileHandle,
  link,
  lstat,
  open,
  readdir,
  realpath,
  rename,
  rmdir,
  stat,
  unlink,
} from "node:fs/promises";
import { join } from "node:path";

import {
  planPath,
  type PathResult,
  found,
  refused,
  refusedBy,
  entryOf,
  folderPath,
  isAnchored,
  isStill,
  type PathTarget,
  withPathTarget,
} from "./resolve-path.ts";

export type EntryKind = "file" | "folder" | "link" | "other";

export interface Entry {
  readonly name: string;
  readonly kind: EntryKind;
}

/** An entry as people see it. What cannot be looked at has no size. */
export interface EntryDetails extends Entry {
  readonly size?: number;
  readonly changedAt?: number;
}

export interface OpenFile {
  readonly handle: FileHandle;
  readonly size: number;
  /** Its permissions. */
  readonly mode: number;
  /** From the root, without links. */
  readonly path: string;
}

const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const makeFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** A folder that untrusted paths cannot leave: every such path is opened through it. */
export class Jail {
  /** Absolute, and without links. */
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  static async open(folder: string): Promise<PathResult<Jail>> {
    try {
      const root = await realpath(folder);
      if (!(await stat(root)).isDirectory()) return refused("not_a_folder", folder);
      return found(new Jail(root));
    } catch (error) {
      return refusedBy(error, folder);
    }
  }

  /** Opens a regular file while `use` runs. Devices, sockets and FIFOs are refused, and opening one never blocks. */
  read<T>(path: string, use: (file: OpenFile) => Promise<T>): Promise<PathResult<T>> {
    return this.#at(path, "refuse", async ({ folder, name, info }) => {
      if (name === null || info?.isDirectory() === true) return refused("not_a_file", path);
      if (info === null) return refused("not_found", path);
      // Opening a device may have side effects.
      if (!info.isFile()) return refused("not_a_file", path);
      const handle = await open(entryOf(this.root, folder, name), readFlags);
      try {
        const below = join(folder.path, name);
        const opened = await handle.stat();
        if (!opened.isFile()) return refused("not_a_file", path);
        if (!isAnchored && !(await isStill(this.root, below, handle)))
          return refused("moved", path);
        const { size, mode } = opened;
        return found(await use({ handle, size, mode: mode & 0o777, path: below }));
      } finally {
        await handle.close();
      }
    });
  }

  /**
   * Atomically replaces or creates a file, with its folders. Readers see the old content or the new, never a part.
   * Returns its path from the root. With `keep`, a file that is there already is refused, not replaced. Permissions
   * stay as they are, or become what `modeOf` makes of them.
   */
  write(
    path: string,
    content: Uint8Array | string,
    existing: "replace" | "keep" = "replace",
    modeOf: (present: number | null) => number = (present) => present ?? 0o644,
  ): Promise<PathResult<string>> {
    return this.#at(path, "make", async ({ folder, name, info }) => {
      if (name === null || (info !== null && !info.isFile())) return refused("not_a_file", path);
      if (info !== null && existing === "keep") return refused("exists", path);
      const fresh = entryOf(this.root, folder, `.holdfast-${randomBytes(8).toString("hex")}`);
      const mode = modeOf(info === null ? null : info.mode & 0o777);
      const handle = await open(fresh, makeFlags, mode);
      try {
        try {
          await handle.writeFile(content);
          if (info !== null) await handle.chmod(mode);
          await handle.sync();
        } finally {
          await handle.close();
        }
        const entry = entryOf(this.root, folder, name);
        // A link put there in the meantime is replaced, not followed.
        if (existing === "replace") await rename(fresh, entry);
        else {
          // Fails if another file has got the name meanwhile.
          await link(fresh, entry);
          await unlink(fresh);
        }
      } catch (error) {
        await unlink(fresh).catch(() => undefined);
        throw error;
      }
      return found(join(folder.path, name));
    });
  }

  remove(path: string): Promise<PathResult<string>> {
    return this.#at(path, "refuse", async ({ folder, name, info }) => {
      if (info === null) return refused(name === null ? "not_a_file" : "not_found", path);
      if (name === null || !info.isFile()) return refused("not_a_file", path);
      await unlink(entryOf(this.root, folder, name));
      return found(join(folder.path, name));
    });
  }

  /** Removes a folder with all that is in it, if that is nothing but empty folders. */
  async removeEmptyFolder(path: string): Promise<boolean> {
    const folders = await this.#emptyFoldersIn(path);
    for (const folder of folders ?? []) {
      const removed = await this.#at(folder, "refuse", async ({ folder: parent, name }) => {
        if (name === null) return refused("not_a_folder", folder);
        await rmdir(entryOf(this.root, parent, name));
        return found(folder);
      });
      if (!removed.ok) return false;
    }
    return folders !== null;
  }

  /** Innermost first; `null` if there is anything else. */
  async #emptyFoldersIn(path: string): Promise<readonly string[] | null> {
    const listed = await this.list(path);
    if (!listed.ok) return null;
    const folders: string[] = [];
    for (const { name, kind } of listed.value.entries) {
      const inner = kind === "folder" ? await this.#emptyFoldersIn(join(path, name)) : null;
      if (inner === null) return null;
      folders.push(...inner);
    }
    return [...folders, path];
  }

  /** The sorted names in a folder, and its path from the root. Links are listed, not followed. */
  list(
    path: string,
  ): Promise<PathResult<{ readonly path: string; readonly entries: readonly Entry[] }>> {
    return this.#inFolder(path, async (folder, below) => {
      const entries = await readdir(folder, { withFileTypes: true });
      const listed = entries.map((entry) => ({ name: entry.name, kind: kindOf(entry) }));
      return { path: below, entries: listed.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
    });
  }

  /** The first names in a folder, folders first, with their sizes. Links are listed, not followed. */
  browse(path: string, limit: number): Promise<PathResult<BrowsedFolder>> {
    return this.#inFolder(path, async (folder, below) => {
      const read = await readdir(folder, { withFileTypes: true });
      const all = read.map((entry) => ({ name: entry.name, kind: kindOf(entry) }));
      all.sort((a, b) => rankOf(a) - rankOf(b) || (a.name < b.name ? -1 : 1));
      const entries = await Promise.all(
        all.slice(0, limit).map(async (entry): Promise<EntryDetails> => {
          const info = await lstat(join(folder, entry.name)).catch(() => null);
          if (info === null) return entry;
          const changedAt = Math.max(0, Math.round(info.mtimeMs));
          return { ...entry, ...(info.isFile() && { size: info.size }), changedAt };
        }),
      );
      return { path: below, entries, more: all.length - entries.length };
    });
  }

  /** The path with links resolved, from the root, whether or not it exists. */
  async canonical(path: string): Promise<PathResult<string>> {
    const planned = planPath(this.root, path);
    if (!planned.ok) return planned;
    const names = [...planned.value];
    const beyond: string[] = [];
    for (;;) {
      const target = await this.#at(names.join("/"), "refuse", async ({ folder, name }) =>
        found(join(folder.path, name ?? "")),
      );
      if (target.ok) return found(join(target.value, ...beyond));
      const last = names.pop();
      if (target.refusal.code !== "not_found" || last === undefined) return target;
      beyond.unshift(last);
    }
  }

  /** A folder's absolute path, to start a program in. It is below the root at this moment. */
  folder(path: string): Promise<PathResult<string>> {
    return this.#inFolder(path, async (_, below) => join(this.root, below));
  }

  /** A folder that stays open, whatever becomes of its name. The caller closes it. */
  openFolder(path: string): Promise<PathResult<FileHandle>> {
    const flags = constants.O_RDONLY | constants.O_DIRECTORY;
    return this.#inFolder(path, (folder) => open(folder, flags));
  }

  async #inFolder<T>(path: string, use: (folder: string, below: string) => Promise<T>) {
    return this.#at(path, "refuse", async ({ folder, name, info }): Promise<PathResult<T>> => {
      if (name === null) return found(await use(folderPath(this.root, folder), folder.path));
      if (info === null) return refused("not_found", path);
      if (!info.isDirectory()) return refused("not_a_folder", path);
      const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
      const handle = await open(entryOf(this.root, folder, name), flags);
      try {
        const below = join(folder.path, name);
        if (!isAnchored && !(await isStill(this.root, below, handle)))
          return refused("moved", path);
        return found(await use(folderPath(this.root, { handle, path: below }), below));
      } finally {
        await handle.close();
      }
    });
  }

  #at<T>(
    path: string,
    missing: "refuse" | "make",
    use: (target: PathTarget) => Promise<PathResult<T>>,
  ) {
    return withPathTarget(this.root, path, missing, use);
  }
}

export interface BrowsedFolder {
  readonly path: string;
  readonly entries: readonly EntryDetails[];
  /** How many names were left out. */
  readonly more: number;
}

function rankOf({ kind }: Entry): number {
  return kind === "folder" ? 0 : 1;
}

function kindOf(entry: Dirent | Stats): EntryKind {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "folder";
  return entry.isSymbolicLink() ? "link" : "other";
}
