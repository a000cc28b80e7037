import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createFolder } from "@holdfast/testing/process/folder";
import { startProcess, type StartOptions } from "@holdfast/testing/process/start-process";

const scripts = fileURLToPath(new URL("../../scripts/", import.meta.url));

export const lockOf = (packages: object): string =>
  JSON.stringify({ lockfileVersion: 3, packages });

const lock = lockOf({ "": {}, "node_modules/zod": { version: "4.0.0" } });

/** Leaves behind what `npm install` does, and counts how often. */
const npm = `
  const fs = require("node:fs");
  fs.appendFileSync("npm-calls", process.argv.slice(2).join(" ") + "\\n");
  fs.mkdirSync("node_modules/.bin", { recursive: true });
  fs.rmSync("node_modules/.bin/node", { force: true });
  if (!process.env.WITHOUT_NODE) fs.symlinkSync(process.execPath, "node_modules/.bin/node");
  const lock = JSON.parse(fs.readFileSync("package-lock.json", "utf8"));
  delete lock.packages[""];
  fs.writeFileSync("node_modules/.package-lock.json", JSON.stringify(lock));
`;

/** Counts builds, and fails when the page's source says so. */
export const vite = `
  const fs = require("node:fs");
  if (fs.readFileSync("src/main.tsx", "utf8") === "broken") throw new Error("unexpected token");
  fs.appendFileSync("../../vite-calls", "build\\n");
  fs.mkdirSync("dist", { recursive: true });
  fs.writeFileSync("dist/index.html", "");
`;

/** Counts builds of the host. */
const buildHost = `
  import fs from "node:fs";
  fs.appendFileSync("host-calls", "build\\n");
  fs.mkdirSync("packages/host/dist", { recursive: true });
  fs.writeFileSync("packages/host/dist/main.js", "");
`;

/** A clone with the real setup scripts and a fake npm. */
export function clone(files: Record<string, string> = {}): string {
  const folder = createFolder({ "package-lock.json": lock, "npm/npm-cli.js": npm, ...files });
  for (const name of ["setup.mjs", "install-record.mjs"])
    cpSync(join(scripts, name), join(folder, "scripts", name));
  return folder;
}

export function cloneWithPage(files: Record<string, string> = {}): string {
  return clone({
    "packages/web/index.html": "",
    "packages/web/src/main.tsx": "",
    "packages/web/src/page-folder.ts": "",
    "packages/protocol/src/index.ts": "",
    "packages/client/src/index.ts": "",
    "packages/engine/src/index.ts": "",
    "packages/store/src/index.ts": "",
    "packages/host/src/main.ts": "",
    "scripts/build-host.mjs": buildHost,
    "scripts/host-entries.ts": "",
    "node_modules/vite/bin/vite.js": vite,
    ...files,
  });
}

interface RunOptions extends StartOptions {
  readonly nodeFlags?: readonly string[];
}

export function start(
  folder: string,
  mode: string,
  { nodeFlags = [], env, ...rest }: RunOptions = {},
) {
  const npmOfTheRun = {
    npm_execpath: join(folder, "npm/npm-cli.js"),
    npm_node_execpath: undefined,
  };
  const options = { ...rest, cwd: folder, env: { ...npmOfTheRun, ...env } };
  return startProcess([...nodeFlags, join(folder, "scripts/setup.mjs"), mode], options);
}

export async function run(folder: string, mode: string, options: RunOptions = {}) {
  const process = start(folder, mode, options);
  const { code } = await process.exited;
  return { code, said: process.lines, complaint: process.stderr().trimEnd() };
}

export function countLines(folder: string, name: string): number {
  const path = join(folder, name);
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n").length : 0;
}
