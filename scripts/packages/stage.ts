import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { publishedManifest, type SourceManifest } from "./published-manifest.ts";
import { findMissing, readFileReferences, usedPackages } from "./staged-files.ts";

/** Assembles the published files of a package in a folder, and returns that folder. */
export function stagePackage(root: string, source: string, output: string): string {
  const name = basename(source);
  const folder = join(output, "packages", name);
  const manifest = readJson(join(root, source, "package.json")) as SourceManifest;
  const workspace = readJson(join(root, "package.json")) as SourceManifest;
  // In `web`, `dist` is only for the page: every file in it is served.
  const codeFolder = name === "web" ? "lib" : "dist";
  const isPublished = (path: string): boolean =>
    manifest.files.some((entry) => path === entry || path.startsWith(`${entry}/`));

  for (const path of filesBelow(join(output, "compiled", name, "src"))) {
    const target = `${codeFolder}/${path}`;
    if (!isPublished(target)) continue;
    const text = readFileSync(join(output, "compiled", name, "src", path), "utf8");
    write(join(folder, target), path.endsWith(".d.ts") ? nameModules(text) : nameThreads(text));
  }
  for (const path of filesBelow(join(root, source, "src")))
    if (path.endsWith(".sql")) cpSync(join(root, source, "src", path), join(folder, "dist", path));
  for (const entry of ["bin", ...(name === "web" ? ["dist"] : [])])
    if (isPublished(entry))
      cpSync(join(root, source, entry), join(folder, entry), { recursive: true });
  cpSync(join(root, source, "README.md"), join(folder, "README.md"));
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));

  const modules = filesBelow(folder).filter((path) => path.startsWith(`${codeFolder}/`));
  const references = readFileReferences(folder, modules);
  const used = usedPackages(references);
  const published = publishedManifest({ manifest, workspace, codeFolder, modules, used });
  write(join(folder, "package.json"), `${JSON.stringify(published, null, 2)}\n`);
  const available = { ...published.dependencies, ...published.peerDependencies };
  const missing = findMissing(folder, references, new Set(Object.keys(available)));
  if (missing.length > 0) throw new Error(missing.join("\n"));
  return folder;
}

/** tsc does not rewrite the names of thread entry files. */
const nameThreads = (code: string): string =>
  code.replaceAll(/(new URL\(\s*"[^"]+)\.tsx?("\s*,\s*import\.meta\.url)/g, "$1.js$2");

/** tsc does not rewrite the specifiers in declarations. */
const nameModules = (types: string): string =>
  types.replaceAll(/(\b(?:from|import)\s*\(?\s*"\.{1,2}\/[^"]+)\.tsx?"/g, '$1.js"');

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, "utf8"));
