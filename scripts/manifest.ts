import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/** The parts of a package.json that the dependency rule uses. */
export interface Manifest {
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
  /** The names under which the package can be imported: `.`, `./testing`. */
  readonly exportNames: readonly string[];
  /** The files behind those names and its commands, relative to the root of the repository. */
  readonly entries: readonly string[];
}

export function readManifest(root: string, folder: string): Manifest {
  const path = join(root, folder, "package.json");
  const content: unknown = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
  const files = [...texts(content, "exports"), ...texts(content, "bin")];
  return {
    dependencies: names(content, "dependencies"),
    devDependencies: names(content, "devDependencies"),
    exportNames: names(content, "exports"),
    entries: files.map((file) => posix.join(folder, file)),
  };
}

function field(content: unknown, name: string): object {
  if (typeof content !== "object" || content === null) return {};
  const value: unknown = Reflect.get(content, name);
  return typeof value === "object" && value !== null ? value : {};
}

const names = (content: unknown, name: string): string[] => Object.keys(field(content, name));

const texts = (content: unknown, name: string): string[] =>
  Object.values(field(content, name)).filter((value) => typeof value === "string");
