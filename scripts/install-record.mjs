// Part of `setup.mjs`, and under its rules: plain JavaScript for any Node, before anything is installed.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * npm writes its own record of node_modules last, so comparing that record with the lock also notices an interrupted
 * or manual install.
 */
export function installIsCurrent(root, mode) {
  const isNeeded = (entry) => mode !== "start" || !isForTests(entry);
  const locked = readPackages(join(root, "package-lock.json"), isNeeded);
  const installed = readInstalled(root, isNeeded);
  if (locked === undefined || installed === undefined) return false;
  const paths = Object.keys({ ...locked, ...installed });
  return paths.every((path) => {
    const [wanted, found] = [locked[path], installed[path]];
    // Packages for other platforms may be locked but not installed, or the other way round.
    if (!wanted || !found) return (wanted || found).optional === true;
    return JSON.stringify(wanted) === JSON.stringify(found);
  });
}

export function hasTestTools(root) {
  return Object.keys(readInstalled(root, isForTests) || {}).length > 0;
}

/** npm marks what is reached only through `devDependencies`. */
const isForTests = (entry) => entry.dev === true;

const readInstalled = (root, isNeeded) =>
  readPackages(join(root, "node_modules", ".package-lock.json"), isNeeded);

/** The packages of a lock, without our own workspaces, which don't affect what is installed. */
function readPackages(path, isNeeded) {
  try {
    const packages = Object.entries(JSON.parse(readFileSync(path, "utf8")).packages);
    return Object.fromEntries(
      packages.filter(([at, entry]) => at.includes("node_modules/") && isNeeded(entry)),
    );
  } catch {
    return undefined;
  }
}
