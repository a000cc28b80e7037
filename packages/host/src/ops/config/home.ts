import { accessSync, constants, existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { done, failed, type Outcome, systemCode } from "../../util/outcome.ts";

/**
 * Creates a missing home, restricted to its owner. An existing folder keeps its mode: it may be shared on purpose, and
 * secret files in it have their own.
 */
export function prepareHome(path: string): Outcome<string> {
  try {
    makeFolder(path);
    if (!statSync(path).isDirectory()) return unusable(path, "it is not a folder");
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return done(path);
  } catch (error) {
    return unusable(path, systemCode(error));
  }
}

/** Level by level: a recursive mkdir hangs where no folder can be created (in /proc). */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  mkdirSync(path, { mode: 0o700 });
}

function unusable(path: string, reason: string): Outcome<never> {
  return failed(
    "home.unusable",
    `The home folder ${path} cannot be written (${reason}): make it writable, or name another with HOLDFAST_HOME.`,
  );
}
