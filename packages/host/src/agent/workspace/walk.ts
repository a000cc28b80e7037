import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";

import { belowRoot, planPath } from "./plan.ts";
import { type PathResult, found, refused, refusedBy } from "./resolve-path.ts";

/** A folder that is held open: whatever happens to its name, this is the folder that was looked at. */
export interface OpenFolder {
  readonly handle: FileHandle;
  /** From the root, without links; empty for the root itself. */
  readonly path: string;
}

/** The end of a walk: a folder, and the name in it, which is no link. `null`: the path is the folder itself. */
export interface PathTarget {
  readonly folder: OpenFolder;
  readonly name: string | null;
  readonly info: Stats | null;
}

const maxLinks = 40;
const openFolderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Linux opens a name below a folder that is held open, as `openat` does. Elsewhere what was opened is looked at again. */
export const isAnchored = process.platform === "linux";

export function entryOf(root: string, { handle, path }: OpenFolder, name: string): string {
  return isAnchored ? `/proc/self/fd/${handle.fd}/${name}` : join(root, path, name);
}

export function folderPath(root: string, { handle, path }: OpenFolder): string {
  return isAnchored ? `/proc/self/fd/${handle.fd}` : join(root, path);
}

/**
 * Walks from the root to a path, name by name, with each folder held open while the next is opened in it, so that a folder
 * that is swapped for a link between a check and its use changes nothing. Links are followed by hand and may lead
 * anywhere below the root, and nowhere else; `..` of a link goes back to the folder that we came from.
 */
export async function withPathTarget<T>(
  root: string,
  path: string,
  missing: "refuse" | "make",
  use: (place: PathTarget) => Promise<PathResult<T>>,
): Promise<PathResult<T>> {
  const planned = planPath(root, path);
  if (!planned.ok) return planned;
  const folders: OpenFolder[] = [];
  try {
    folders.push({ handle: await open(root, openFolderFlags), path: "" });
    const place = await walk({ root, path, missing, folders, todo: [...planned.value] });
    return place.ok ? await use(place.value) : place;
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
  /** From the root to where we are. */
  readonly folders: OpenFolder[];
  todo: string[];
}

async function walk(walked: Walk): Promise<PathResult<PathTarget>> {
  const { root, path, folders } = walked;
  let links = 0;
  for (;;) {
    const here = folders.at(-1);
    if (here === undefined) return refused("outside", path);
    const name = walked.todo.shift();
    if (name === undefined) return found({ folder: here, name: null, info: null });
    if (name === "" || name === ".") continue;
    if (name === "..") {
      await folders.pop()?.handle.close();
      continue;
    }
    const info = await lstat(entryOf(root, here, name)).catch(ifMissing);
    if (info?.isSymbolicLink() === true) {
      links += 1;
      if (links > maxLinks) return refused("too_many_links", path);
      const followed = await followLink(walked, here, name);
      if (!followed.ok) return followed;
      continue;
    }
    if (walked.todo.every((rest) => rest === "" || rest === "."))
      return found({ folder: here, name, info });
    const entered = await enter(walked, here, name, info);
    if (!entered.ok) return entered;
  }
}

async function followLink(walked: Walk, here: OpenFolder, name: string): Promise<PathResult<null>> {
  const { root, path, folders } = walked;
  const target = await readlink(entryOf(root, here, name));
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
  here: OpenFolder,
  name: string,
  info: Stats | null,
): Promise<PathResult<null>> {
  if (info === null && missing === "refuse") return refused("not_found", path);
  if (info !== null && !info.isDirectory()) return refused("not_a_folder", path);
  const entry = entryOf(root, here, name);
  if (info === null) await mkdir(entry).catch(ifThere);
  const handle = await open(entry, openFolderFlags);
  const below = join(here.path, name);
  folders.push({ handle, path: below });
  if (!isAnchored && !(await isStill(root, below, handle))) return refused("moved", path);
  return found(null);
}

/** Whether the name still leads, without a link, to what was opened by it. */
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
