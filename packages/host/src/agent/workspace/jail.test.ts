import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { afterEach, beforeEach, expect, test } from "vitest";

import { Jail } from "./jail.ts";

let folder: string;
let root: string;
let outside: string;
let jail: Jail;
beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-paths-")));
  root = join(folder, "root");
  outside = join(folder, "outside");
  for (const path of [root, outside]) mkdirSync(path);
  writeFileSync(join(outside, "secret"), "SECRET");
  const opened = await Jail.open(root);
  if (!opened.ok) throw new Error(opened.refusal.message);
  jail = opened.value;
});
afterEach(() => rmSync(folder, { recursive: true }));

const text = async (path: string) => {
  const read = await jail.read(path, ({ handle }) => handle.readFile("utf8"));
  return read.ok ? read.value : read.refusal.code;
};
const codeOf = async (work: Promise<Awaited<ReturnType<Jail["write"]>>>) => {
  const done = await work;
  return done.ok ? `done ${done.value}` : done.refusal.code;
};

test("a file is written with its folders, read back, replaced whole and removed", async () => {
  expect(await codeOf(jail.write("a/b/c.txt", "one"))).toBe("done a/b/c.txt");
  chmodSync(join(root, "a/b/c.txt"), 0o750);
  expect(await codeOf(jail.write(`${root}/a/./b/../b/c.txt`, "two"))).toBe("done a/b/c.txt");
  expect(await text("a/b/c.txt")).toBe("two");
  expect(statSync(join(root, "a/b/c.txt")).mode & 0o777).toBe(0o750);
  const listed = await jail.list("a/b");
  expect(listed).toMatchObject({ ok: true, value: { entries: [{ name: "c.txt", kind: "file" }] } });
  expect(await codeOf(jail.remove("a/b/c.txt"))).toBe("done a/b/c.txt");
  expect(await text("a/b/c.txt")).toBe("not_found");
});

test("names keep their case and their composition", async () => {
  for (const name of ["ä", "a\u0308", "A", "a", "日本 語"]) await jail.write(name, name);
  for (const name of ["ä", "a\u0308", "A", "a", "日本 語"]) expect(await text(name)).toBe(name);
});

test("[safety] links lead anywhere below the root, and nowhere else", async () => {
  mkdirSync(join(root, "deep/er"), { recursive: true });
  writeFileSync(join(root, "deep/file"), "inside");
  symlinkSync("../file", join(root, "deep/er/up"));
  symlinkSync(join(root, "deep"), join(root, "absolute"));
  expect(await text("deep/er/up")).toBe("inside");
  expect(await text("absolute/er/up")).toBe("inside");

  symlinkSync("../../outside/secret", join(root, "deep/out"));
  symlinkSync(join(outside, "secret"), join(root, "abs-out"));
  symlinkSync("../outside", join(root, "folder-out"));
  symlinkSync("er/../../../outside/secret", join(root, "deep/winding"));
  for (const path of ["deep/out", "abs-out", "folder-out/secret", "deep/winding"]) {
    expect(await text(path)).toBe("outside");
    expect(await codeOf(jail.write(path, "x"))).toBe("outside");
    expect(await codeOf(jail.remove(path))).toBe("outside");
  }
  expect(await jail.list("folder-out")).toMatchObject({ ok: false });
  expect(await jail.folder("folder-out")).toMatchObject({ ok: false });
  expect(readFileSync(join(outside, "secret"), "utf8")).toBe("SECRET");
});

test("a dangling link creates a file at its target if that is below the root", async () => {
  symlinkSync("made", join(root, "dangling"));
  expect(await text("dangling")).toBe("not_found");
  expect(await codeOf(jail.write("dangling", "new"))).toBe("done made");
  expect(readFileSync(join(root, "made"), "utf8")).toBe("new");
  symlinkSync(join(outside, "made"), join(root, "leaving"));
  expect(await codeOf(jail.write("leaving", "new"))).toBe("outside");
  expect(existsSync(join(outside, "made"))).toBe(false);
});

test("circular links are refused", async () => {
  symlinkSync("two", join(root, "one"));
  symlinkSync("one", join(root, "two"));
  expect(await text("one")).toBe("too_many_links");
});

test("FIFOs, sockets, devices and folders are no files, and none of them blocks", async () => {
  execFileSync("mkfifo", [join(root, "fifo")]);
  const server = createServer().listen(join(root, "socket"));
  await once(server, "listening");
  symlinkSync("/dev/zero", join(root, "zero"));
  mkdirSync(join(root, "folder"));
  for (const path of ["fifo", "socket", "folder"]) {
    expect(await text(path)).toBe("not_a_file");
    expect(await codeOf(jail.write(path, "x"))).toBe("not_a_file");
    expect(await codeOf(jail.remove(path))).toBe("not_a_file");
  }
  expect(await text("zero")).toBe("outside");
  expect(await text("fifo/below")).toBe("not_a_folder");
  server.close();
});

test("[safety] a folder or file swapped for a link while it is opened leads nowhere else", async () => {
  mkdirSync(join(root, "folder"));
  writeFileSync(join(root, "folder/secret"), "mine");
  writeFileSync(join(root, "file"), "mine");
  const child = fork(
    fileURLToPath(new URL("../../../test/support/symlink-swap-main.ts", import.meta.url)),
    [root, outside],
  );
  await once(child, "message");
  const seen = new Map<string, number>();
  const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
  // Long enough to hit both sides of the race many times.
  const isRunning = () => child.exitCode === null;
  const hasMetBoth = () => seen.has("mine") && seen.has("outside");
  for (let round = 0; isRunning() && (round < 1_000 || !hasMetBoth()); round += 1) {
    count(await text("folder/secret"));
    count(await text("file"));
    if (round % 10 === 0) await jail.write("file", "mine");
  }
  expect(isRunning()).toBe(true);
  child.disconnect();
  await once(child, "exit");
  expect([...seen.keys()]).toContain("mine");
  expect([...seen.keys()]).not.toContain("SECRET");
  expect(readFileSync(join(outside, "secret"), "utf8")).toBe("SECRET");
});
