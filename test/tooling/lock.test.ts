import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createFolder } from "@holdfast/testing/process/folder";
import { startProcess } from "@holdfast/testing/process/start-process";

const root = fileURLToPath(new URL("../..", import.meta.url));

interface Locked {
  readonly link?: boolean;
  readonly integrity?: string;
  readonly resolved?: string;
}

function readLock(): [path: string, locked: Locked][] {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, Locked>;
  };
  return Object.entries(lock.packages);
}

test("npm ci accepts the lock, offline and with an empty cache", async () => {
  const folder = createFolder();
  const own = readLock().flatMap(([path]) => (path.includes("node_modules/") ? [] : path));
  const manifests = own.map((path) => join(path, "package.json"));
  for (const file of [...manifests, "package-lock.json", ".npmrc"])
    cpSync(join(root, file), join(folder, file));
  const flags = ["--dry-run", "--offline", "--ignore-scripts", "--cache=cache", "--loglevel=error"];
  const npm = startProcess(["ci", ...flags], { command: "npm", cwd: folder });
  const { code } = await npm.exited;
  const missing = npm.stderr().match(/Missing: .*/g);
  expect({ code, missing }).toEqual({ code: 0, missing: null });
});

test("every locked package has a checksum and names no registry", () => {
  const fromRegistry = readLock().filter(
    ([path, { link }]) => path.includes("node_modules/") && !link,
  );
  expect(fromRegistry).not.toEqual([]);
  const unfit = fromRegistry.filter(([, { integrity, resolved }]) => !integrity || resolved);
  expect(unfit).toEqual([]);
});
