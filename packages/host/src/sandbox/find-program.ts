import { accessSync, constants } from "node:fs";
import { join } from "node:path";

/** Where the system keeps its own programs: a path of the environment may name a folder that anybody can change. */
const systemPath = [
  "/usr/bin",
  "/bin",
  "/usr/sbin",
  "/sbin",
  "/usr/local/bin",
  "/usr/local/sbin",
  "/run/current-system/sw/bin",
];

export function findProgram(name: string): string | null {
  for (const folder of systemPath) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // It may be in the next one.
    }
  }
  return null;
}
