import { existsSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { writeFiles } from "@holdfast/testing/process/folder";
import { startProcess } from "@holdfast/testing/process/start-process";
import { cloneWithPage, countLines, lockOf, run, vite } from "./setup-clone.ts";

const zod = { "node_modules/zod": { version: "4.0.0" } };
const withVitest = (version: string) => ({
  ...zod,
  "node_modules/vitest": { version, dev: true },
});

test.each([
  ["is added", zod, withVitest("5.0.0")],
  ["is removed", withVitest("5.0.0"), zod],
  ["gets another version", withVitest("5.0.0"), withVitest("5.1.0")],
])("when a test tool %s, a test installs again and a start doesn't", async (_, before, after) => {
  const folder = cloneWithPage({ "package-lock.json": lockOf(before) });
  await run(folder, "test");
  writeFiles(folder, { "package-lock.json": lockOf(after) });
  await run(folder, "start");
  expect(countLines(folder, "npm-calls")).toBe(1);
  await run(folder, "test");
  expect(countLines(folder, "npm-calls")).toBe(2);
});

const env = {
  npm_execpath: undefined,
  PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
};

/** A clone whose packages real npm installs from its own folder, without a network. */
function cloneForRealNpm(): string {
  const manifestOf = (name: string): string => JSON.stringify({ name, version: "1.0.0" });
  const folder = cloneWithPage({
    ".npmrc": "offline=true\ninstall-links=true\ncache=./cache\n",
    "parts/vite/package.json": manifestOf("vite"),
    "parts/vite/bin/vite.js": vite,
    "parts/vitest/package.json": manifestOf("vitest"),
    "parts/zod/package.json": manifestOf("zod"),
  });
  rmSync(join(folder, "node_modules"), { recursive: true });
  return folder;
}

/** Has npm write the lock; before the first install, or npm would record the packages as installed. */
async function lockFor(folder: string, names: string[]): Promise<Record<string, string>> {
  const dependencies = Object.fromEntries(names.map((name) => [name, `file:parts/${name}`]));
  const devDependencies = { vitest: "file:parts/vitest" };
  const manifest = JSON.stringify({ dependencies, devDependencies });
  writeFiles(folder, { "package.json": manifest });
  const args = ["install", "--package-lock-only", "--no-audit"];
  const npm = startProcess(args, { command: "npm", cwd: folder, env });
  expect(await npm.exited).toMatchObject({ code: 0 });
  const lock = readFileSync(join(folder, "package-lock.json"), "utf8");
  return { "package.json": manifest, "package-lock.json": lock };
}

test("a start installs no test tools, a test adds them, and no start removes them", async () => {
  const folder = cloneForRealNpm();
  const before = await lockFor(folder, ["vite"]);
  const after = await lockFor(folder, ["vite", "zod"]);
  const runWithNpm = (mode: string) => run(folder, mode, { env });
  const installed = (): string[] =>
    ["vite", "vitest", "zod"].filter((name) => existsSync(join(folder, "node_modules", name)));
  const noInstall = { code: 0, said: [], complaint: "" };

  writeFiles(folder, before);
  expect(await runWithNpm("start")).toMatchObject({ code: 0, complaint: "" });
  expect(installed()).toEqual(["vite"]);
  expect(await runWithNpm("start")).toEqual(noInstall);

  expect(await runWithNpm("test")).toMatchObject({ code: 0, complaint: "" });
  expect(installed()).toEqual(["vite", "vitest"]);
  expect(await runWithNpm("test")).toEqual(noInstall);
  expect(await runWithNpm("start")).toEqual(noInstall);

  writeFiles(folder, after);
  expect(await runWithNpm("start")).toMatchObject({ code: 0, complaint: "" });
  expect(installed()).toEqual(["vite", "vitest", "zod"]);
});
