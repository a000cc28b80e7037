import { type PathResult, found, refused } from "./resolve-path.ts";

const longestPath = 4_096;
const longestName = 255;
// oxlint-disable-next-line no-control-regex -- these are the characters that are refused
const unusable = /[\u0000-\u001F\u007F]/;

/**
 * The names that lead from the root to a path, decided by its text alone. `..` is taken out here, before any link is
 * looked at; what would leave the root is refused. An absolute path is taken when it lies below the root.
 */
export function planPath(root: string, path: string): PathResult<readonly string[]> {
  if (!path.isWellFormed() || unusable.test(path)) return refused("bad_name", path);
  if (Buffer.byteLength(path) > longestPath) return refused("too_long", path);
  const below = path.startsWith("/") ? belowRoot(root, path) : path;
  if (below === null) return refused("outside", path);
  const names: string[] = [];
  for (const name of below.split("/")) {
    if (name === "" || name === ".") continue;
    if (name === "..") {
      if (names.pop() === undefined) return refused("outside", path);
    } else if (Buffer.byteLength(name) > longestName) return refused("too_long", path);
    else names.push(name);
  }
  return found(names);
}

/** What is left of an absolute path below the root; `null` when it lies elsewhere. */
export function belowRoot(root: string, path: string): string | null {
  if (path === root) return "";
  const prefix = root === "/" ? "/" : `${root}/`;
  return path.startsWith(prefix) ? path.slice(prefix.length) : null;
}
