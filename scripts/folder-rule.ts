import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import type { Violation } from "./dependency-rule.ts";
import { walkSources } from "./list-sources.ts";

/** Beyond these limits a reader no longer finds a file by looking at its folder. */
const maxRootFiles = 5;
const maxFolderFiles = 21;

/** Keeps the packages' folders small, and each of them described in its package's README. */
export function checkFolders(root: string): Violation[] {
  const folders = new Map<string, number>();
  for (const file of walkSources(root)) {
    if (!/^packages\/[^/]+\/src\//.test(file) || /\.test\.tsx?$/.test(file)) continue;
    const folder = posix.dirname(file);
    folders.set(folder, (folders.get(folder) ?? 0) + 1);
  }
  return [...folders].flatMap(([folder, files]) => [
    ...judgeSize(folder, files),
    ...judgeDescription(root, folder),
  ]);
}

function judgeSize(folder: string, files: number): Violation[] {
  const isRoot = folder.split("/").length === 3;
  const most = isRoot ? maxRootFiles : maxFolderFiles;
  if (files <= most) return [];
  const message = `has ${files} files besides its tests, and ${most} are the most`;
  return [{ file: folder, line: 1, rule: "folder-size", message }];
}

function judgeDescription(root: string, folder: string): Violation[] {
  const [, name = "", , ...inside] = folder.split("/");
  if (inside.length === 0) return [];
  const readme = `packages/${name}/README.md`;
  const text = existsSync(join(root, readme)) ? readFileSync(join(root, readme), "utf8") : "";
  const described = inside.join("/");
  if (text.includes(`\`${described}/\``)) return [];
  const message = `say in ${readme} what \`${described}/\` is for`;
  return [{ file: folder, line: 1, rule: "folder-described", message }];
}
