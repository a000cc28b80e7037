import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** From the root of the repository, where hosts are started. */
export const builtHost = "test/dist/host/main.js";

/** A host serves the page too, and does not start without it. Both are built when they are not what the sources say. */
export function ensureBuilt(): void {
  const setup = fileURLToPath(new URL("../../scripts/setup.mjs", import.meta.url));
  for (const product of ["page", "test-host"]) {
    const built = spawnSync(process.execPath, [setup, product], { stdio: "inherit" });
    if (built.status !== 0)
      throw new Error(`The ${product} was not built; the reason stands above.`);
  }
}

/**
 * Whoever is killed leaves no compiled sources behind; those that somebody else left make a start fast. A test run keeps some
 * for all of its processes.
 */
export function compileCacheEnv(folder: string): Record<string, string> {
  return { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? folder };
}
