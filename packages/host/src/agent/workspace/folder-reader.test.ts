import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { FolderReader } from "./folder-reader.ts";
import { Jail } from "./jail.ts";

async function open() {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-reader-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const root = join(folder, "root");
  mkdirSync(join(root, "tides"), { recursive: true });
  writeFileSync(join(root, "tides/today.txt"), "high");
  writeFileSync(join(folder, "secret.txt"), "secret");
  const jail = await Jail.open(root);
  if (!jail.ok) throw new Error(jail.refusal.message);
  const reader = new FolderReader(jail.value, 100);
  onTestFinished(() => reader.close());
  const read = async (path: string) => (await reader.read(path))?.toString("utf8") ?? null;
  return { folder, root, read };
}

test("files are read, and what is none, too large or missing is not", async () => {
  const { root, read } = await open();
  writeFileSync(join(root, "large.txt"), "x".repeat(101));
  expect(await read("tides/today.txt")).toBe("high");
  for (const path of ["tides", "large.txt", "missing.txt", "missing/today.txt"])
    expect(await read(path)).toBeNull();
});

test("[safety] links and FIFOs are not read, and a folder that becomes a link leads nowhere", async () => {
  const { folder, root, read } = await open();
  symlinkSync(join(folder, "secret.txt"), join(root, "tides/link.txt"));
  execFileSync("mkfifo", [join(root, "tides/pipe")]);
  expect(await read("tides/link.txt")).toBeNull();
  expect(await read("tides/pipe")).toBeNull();
  renameSync(join(root, "tides"), join(root, "earlier"));
  symlinkSync(folder, join(root, "tides"));
  expect(await read("tides/secret.txt")).toBeNull();
  symlinkSync(folder, join(root, "out"));
  expect(await read("out/secret.txt")).toBeNull();
});

test("more folders than stay open are read all the same", async () => {
  const { root, read } = await open();
  for (let index = 0; index < 40; index += 1) {
    mkdirSync(join(root, `d${index}`));
    writeFileSync(join(root, `d${index}/a.txt`), String(index));
  }
  for (const index of [...Array.from({ length: 40 }).keys(), 0, 39])
    expect(await read(`d${index}/a.txt`)).toBe(String(index));
});
