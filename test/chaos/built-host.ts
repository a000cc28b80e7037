import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Relative to the root of the repository, where hosts are started. */
export const builtHost = "test/dist/host/main.js";

/** A host also serves the page and doesn't start without it. Both are built when they are out of date. */
export function ensureBuilt(): void {
  const setup = fileURLToPath(new URL("../../scripts/setup.mjs", import.meta.url));
  for (const product of ["page", "test-host"]) {
    const built = spawnSync(process.execPath, [setup, product], { stdio: "inherit" });
    if (built.status !== 0) throw new Error(`The ${product} was not built; see the reason above.`);
  }
}

/**
 * A killed process doesn't write its compile cache, but uses one that somebody else left, which makes a start fast. A
 * test run keeps one for all of its processes.
 */
export function compileCacheEnv(folder: string): Record<string, string> {
  return { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? folder };
}
