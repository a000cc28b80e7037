import { createHash } from "node:crypto";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

import { scanSkills, type SkillScan } from "./scan-skills.ts";

/** A folder with more entries is scanned each time. */
const maxEntries = 5_000;
const maxDepth = 12;

/**
 * Scans a folder again only after one of its files or folders has changed: every run asks, and reading all files takes
 * longer than looking at their times.
 */
export function createScanCache(): (root: string) => Promise<SkillScan> {
  const known = new Map<string, { readonly state: string; readonly scan: SkillScan }>();
  return async (root) => {
    const state = await stateOf(root);
    const cached = known.get(root);
    if (state !== null && cached?.state === state) return cached.scan;
    const scan = await scanSkills(root);
    // What changed during the scan shows the next time.
    if (state === null) known.delete(root);
    else known.set(root, { state, scan });
    return scan;
  };
}

async function stateOf(root: string): Promise<string | null> {
  const hash = createHash("sha256");
  let entries = 0;
  async function add(path: string, depth: number): Promise<boolean> {
    const names = await readdir(path).catch(() => null);
    if (names === null) return true;
    entries += names.length;
    if (entries > maxEntries || depth > maxDepth) return false;
    for (const name of names.toSorted()) {
      const inner = join(path, name);
      const info = await lstat(inner, { bigint: true }).catch(() => null);
      hash.update(`${JSON.stringify(inner)} ${info?.ino} ${info?.size} ${info?.mode} `);
      hash.update(`${info?.mtimeNs} ${info?.ctimeNs}\n`);
      if (info?.isDirectory() === true && !(await add(inner, depth + 1))) return false;
    }
    return true;
  }
  return (await add(root, 0)) ? hash.digest("hex") : null;
}
