import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const skipped = new Set(["node_modules", ".git"]);

/** The path itself, or every file below it, relative to the root and with `/`. */
export function filesBelow(root: string, path: string): readonly string[] {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) => {
    const below = path === "." ? entry.name : `${path}/${entry.name}`;
    if (!entry.isDirectory()) return entry.isFile() ? [below] : [];
    return skipped.has(entry.name) ? [] : filesBelow(root, below);
  });
}
