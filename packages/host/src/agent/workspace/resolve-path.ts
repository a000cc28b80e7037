import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";

/** Why a path is refused. The code is stable; the message is for a person or a model to act on. */
export interface PathRefusal {
  readonly code:
    | "outside"
    | "bad_name"
    | "too_long"
    | "too_many_links"
    | "not_found"
    | "not_a_folder"
    | "not_a_file"
    | "exists"
    | "moved"
    | "unreadable";
  readonly message: string;
}

export type PathResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: PathRefusal };

export function found<T>(value: T): PathResult<T> {
  return { ok: true, value };
}

const refusalMessages: Readonly<Record<PathRefusal["code"], string>> = {
  outside: "leads out of the workspace",
  bad_name: "has characters that no name may have here",
  too_long: "is too long",
  too_many_links: "leads through too many links",
  not_found: "is not there",
  not_a_folder: "is not a folder",
  not_a_file: "is not a plain file",
  exists: "is there already",
  moved: "was replaced while it was being opened",
  unreadable: "cannot be used",
};

export function refused(code: PathRefusal["code"], path: string, more = ""): PathResult<never> {
  const shown = JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
  return { ok: false, refusal: { code, message: `${shown} ${refusalMessages[code]}${more}.` } };
}

/** Turns a system error about a path into a refusal. */
export function refusedBy(error: unknown, path: string): PathResult<never> {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
  switch (code) {
    case "ENOENT":
      return refused("not_found", path);
    case "ENOTDIR":
      return refused("not_a_folder", path);
    case "EISDIR":
      return refused("not_a_file", path);
    case "EEXIST":
      return refused("exists", path);
    case "ELOOP":
      return refused("moved", path);
    case "ENAMETOOLONG":
      return refused("too_long", path);
    // A FIFO without a writer, a socket, a device without a driver.
    case "ENXIO":
    case "ENODEV":
      return refused("not_a_file", path);
    default:
      return refused("unreadable", path, ` (${code})`);
  }
}

const maxPathBytes = 4_096;
const maxNameBytes = 255;
// oxlint-disable-next-line no-control-regex -- these are the characters that are refused
const unusable = /[\u0000-\u001F\u007F]/;

/**
 * The names from the root to a path, decided by its text alone. `..` is resolved here, before any link; a path that
 * would leave the root is refused. An absolute path must be below the root.
 */
export function planPath(root: string, path: string): PathResult<readonly string[]> {
  if (!path.isWellFormed() || unusable.test(path)) return refused("bad_name", path);
  if (Buffer.byteLength(path) > maxPathBytes) return refused("too_long", path);
  const below = path.startsWith("/") ? belowRoot(root, path) : path;
  if (below === null) return refused("outside", path);
  const names: string[] = [];
  for (const name of below.split("/")) {
    if (name === "" || name === ".") continue;
    if (name === "..") {
      if (names.pop() === undefined) return refused("outside", path);
    } else if (Buffer.byteLength(name) > maxNameBytes) return refused("too_long", path);
    else names.push(name);
  }
  return found(names);
}

/** The part of an absolute path below the root; `null` if it is elsewhere. */
export function belowRoot(root: string, path: string): string | null {
  if (path === root) return "";
  const prefix = root === "/" ? "/" : `${root}/`;
  return path.startsWith(prefix) ? path.slice(prefix.length) : null;
}

/** An open folder: whatever happens to its name, this is the folder that was checked. */
export interface OpenFolder {
  readonly handle: FileHandle;
  /** From the root, without links; empty for the root itself. */
  readonly path: string;
}

/** The end of a walk: a folder and a name in it that is no link. `null` if the path is the folder itself. */
export interface PathTarget {
  readonly folder: OpenFolder;
  readonly name: string | null;
  readonly info: Stats | null;
}

const maxLinks = 40;
const openFolderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Linux opens a name below an open folder, like `openat`. Elsewhere, what was opened is checked again. */
export const isAnchored = process.platform === "linux";

export function entryOf(root: string, { handle, path }: OpenFolder, name: string): string {
  return isAnchored ? `/proc/self/fd/${handle.fd}/${name}` : join(root, path, name);
}

export function folderPath(root: string, { handle, path }: OpenFolder): string {
  return isAnchored ? `/proc/self/fd/${handle.fd}` : join(root, path);
}

/**
 * Walks from the root to a path name by name, holding each folder open while the next is opened in it, so that swapping
 * a folder for a link between check and use changes nothing. Links are followed by hand and may lead anywhere below the
 * root, and nowhere else; `..` after a link goes back to the folder we came from.
 */
export async function withPathTarget<T>(
  root: string,
  path: string,
  missing: "refuse" | "make",
  use: (target: PathTarget) => Promise<PathResult<T>>,
): Promise<PathResult<T>> {
  const planned = planPath(root, path);
  if (!planned.ok) return planned;
  const folders: OpenFolder[] = [];
  try {
    folders.push({ handle: await open(root, openFolderFlags), path: "" });
    const target = await walk({ root, path, missing, folders, todo: [...planned.value] });
    return target.ok ? await use(target.value) : target;
  } catch (error) {
    return refusedBy(error, path);
  } finally {
    await Promise.all(folders.map(({ handle }) => handle.close()));
  }
}

interface Walk {
  readonly root: string;
  readonly path: string;
  readonly missing: "refuse" | "make";
  /** From the root to the current folder. */
  readonly folders: OpenFolder[];
  todo: string[];
}

async function walk(walked: Walk): Promise<PathResult<PathTarget>> {
  const { root, path, folders } = walked;
  let links = 0;
  for (;;) {
    const folder = folders.at(-1);
    if (folder === undefined) return refused("outside", path);
    const name = walked.todo.shift();
    if (name === undefined) return found({ folder, name: null, info: null });
    if (name === "" || name === ".") continue;
    if (name === "..") {
      await folders.pop()?.handle.close();
      continue;
    }
    const info = await lstat(entryOf(root, folder, name)).catch(ifMissing);
    if (info?.isSymbolicLink() === true) {
      links += 1;
      if (links > maxLinks) return refused("too_many_links", path);
      const followed = await followLink(walked, folder, name);
      if (!followed.ok) return followed;
      continue;
    }
    if (walked.todo.every((rest) => rest === "" || rest === "."))
      return found({ folder, name, info });
    const entered = await enter(walked, folder, name, info);
    if (!entered.ok) return entered;
  }
}

async function followLink(
  walked: Walk,
  folder: OpenFolder,
  name: string,
): Promise<PathResult<null>> {
  const { root, path, folders } = walked;
  const target = await readlink(entryOf(root, folder, name));
  if (!target.startsWith("/")) {
    walked.todo = [...target.split("/"), ...walked.todo];
    return found(null);
  }
  const below = belowRoot(root, target);
  if (below === null) return refused("outside", path);
  for (const { handle } of folders.splice(1)) await handle.close();
  walked.todo = [...below.split("/"), ...walked.todo];
  return found(null);
}

async function enter(
  { root, path, missing, folders }: Walk,
  folder: OpenFolder,
  name: string,
  info: Stats | null,
): Promise<PathResult<null>> {
  if (info === null && missing === "refuse") return refused("not_found", path);
  if (info !== null && !info.isDirectory()) return refused("not_a_folder", path);
  const entry = entryOf(root, folder, name);
  if (info === null) await mkdir(entry).catch(ifThere);
  const handle = await open(entry, openFolderFlags);
  const below = join(folder.path, name);
  folders.push({ handle, path: below });
  if (!isAnchored && !(await isStill(root, below, handle))) return refused("moved", path);
  return found(null);
}

/** Whether the name still leads, without a link, to the open file. */
export async function isStill(root: string, path: string, handle: FileHandle): Promise<boolean> {
  const whole = join(root, path);
  const [named, opened, real] = await Promise.all([lstat(whole), handle.stat(), realpath(whole)]);
  return named.dev === opened.dev && named.ino === opened.ino && real === whole;
}

function ifMissing(error: unknown): null {
  if (codeOf(error) === "ENOENT") return null;
  throw error;
}

function ifThere(error: unknown): void {
  if (codeOf(error) !== "EEXIST") throw error;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
