import { accessSync, constants, existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { done, failed, type Outcome, systemCode } from "../../util/outcome.ts";

/** While it is there, the home is half of what it was and half of a backup. */
export const unfinishedRestoreFile = "restore-unfinished.json";

/**
 * Creates a missing home, restricted to its owner. An existing folder keeps its mode: it may be shared on purpose, and
 * secret files in it have their own.
 */
export function prepareHome(path: string): Outcome<string> {
  try {
    makeFolder(path);
    if (!statSync(path).isDirectory()) return unusable(path, "it is not a folder");
    if (existsSync(join(path, unfinishedRestoreFile)))
      return failed(
        "home.unusable",
        `A restore into ${path} has not finished. Finish it with the same command: holdfast restore <folder> --replace`,
      );
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
