import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { ids, ownerId } from "@holdfast/protocol";
import { beforeEach, expect, onTestFinished, test } from "vitest";

import { findProgram } from "../../sandbox/find-program.ts";
import type { SavedChanges } from "./file-snapshots.ts";
import { LocalFileSnapshots } from "./local-snapshots.ts";
import { readRemoval } from "./saved-size.ts";

let home: string;
let folder: string;
let snapshots: LocalFileSnapshots;
const signal = new AbortController().signal;

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-snapshots-")));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  folder = join(home, "project");
  mkdirSync(folder);
  snapshots = openSnapshots();
});

function openSnapshots(program = findProgram("git")): LocalFileSnapshots {
  return new LocalFileSnapshots({ folder: join(home, "snapshots"), git: program });
}

/** Ends before git would: it waits at a FIFO for ever. */
function openImpatient(now: () => number, rest = {}): LocalFileSnapshots {
  const own = { folder: join(home, "snapshots"), git: findProgram("git"), now };
  return new LocalFileSnapshots({ ...own, ...rest });
}

function put(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function git(...args: readonly string[]): void {
  const identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
  execFileSync("git", ["-C", folder, ...identity, ...args], {
    env: { PATH: process.env["PATH"], GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
  });
}

function commitAll(): void {
  git("init", "-q", ".");
  git("add", "-A");
  git("commit", "-q", "-m", "Begin");
}

/** Each changed path with its content before and after. */
async function contentsOf(
  { changes }: SavedChanges,
  from = snapshots,
): Promise<Record<string, readonly [string | null, string | null]>> {
  const workspace = from.workspaceOf(folder);
  const text = async (id: string | undefined): Promise<string | null> => {
    if (id === undefined) return null;
    const content = await from.get(workspace, id);
    return content === null ? "[not here]" : Buffer.from(content).toString();
  };
  const all = changes.map(
    async ({ path, before, after }) =>
      [path, [await text(before?.id), await text(after?.id)]] as const,
  );
  return Object.fromEntries(await Promise.all(all));
}

test("a snapshot of a repository finds what was changed, made and deleted since, with both contents", async () => {
  put("kept.txt", "kept\n");
  put("changed.txt", "old\n");
  put("deep/deleted.txt", "gone\n");
  put(".gitignore", "ignored/\n");
  commitAll();
  put("ignored/a.txt", "ignored\n");
  put("untracked.txt", "mine\n");
  const before = await snapshots.take(folder, signal);
  put("changed.txt", "new\n");
  put("made.txt", "made\n");
  put("untracked.txt", "theirs\n");
  put("ignored/a.txt", "changed, and ignored\n");
  rmSync(join(folder, "deep/deleted.txt"));
  const found = await snapshots.changesSince(folder, before, signal);
  expect(found).toMatchObject({ notSaved: [] });
  expect(await contentsOf(found)).toEqual({
    "changed.txt": ["old\n", "new\n"],
    "made.txt": [null, "made\n"],
    "untracked.txt": ["mine\n", "theirs\n"],
    "deep/deleted.txt": ["gone\n", null],
  });
  expect(existsSync(join(folder, ".git", "index.lock"))).toBe(false);
});

test("what an undo needs survives the loss of the repository's own objects", async () => {
  put("a.txt", "committed\n");
  commitAll();
  const before = await snapshots.take(folder, signal);
  put("a.txt", "changed\n");
  const found = await snapshots.changesSince(folder, before, signal);
  rmSync(join(folder, ".git"), { recursive: true });
  expect(await contentsOf(found, openSnapshots())).toEqual({
    "a.txt": ["committed\n", "changed\n"],
  });
});

test("a folder without a repository is saved too, and without git nothing is and it says so", async () => {
  put("a.txt", "one\n");
  const before = await snapshots.take(folder, signal);
  put("a.txt", "two\n");
  expect(await contentsOf(await snapshots.changesSince(folder, before, signal))).toEqual({
    "a.txt": ["one\n", "two\n"],
  });
  const none = openSnapshots(null);
  const empty = await none.take(folder, signal);
  expect(await none.changesSince(folder, empty, signal)).toEqual({
    changes: [],
    notSaved: [],
    missing: "no_git",
  });
});

test("a workspace below the top of a repository is saved with the rules of the whole repository", async () => {
  put(".gitignore", "*.log\n");
  put("package/a.txt", "one\n");
  put("other/b.txt", "one\n");
  commitAll();
  const below = join(folder, "package");
  const before = await snapshots.take(below, signal);
  put("package/a.txt", "two\n");
  put("package/b.log", "ignored\n");
  put("other/b.txt", "two\n");
  const { changes } = await snapshots.changesSince(below, before, signal);
  expect(changes.map(({ path }) => path)).toEqual(["a.txt"]);
});

test("nothing that a repository configures is run or read: filters, monitors, hooks and line ends", async () => {
  put("a.txt", "one\r\n");
  put(".gitattributes", "*.txt text eol=crlf filter=spy\n");
  commitAll();
  const proof = join(home, "was-run");
  const spy = `sh -c 'touch ${proof}; cat'`;
  git("config", "filter.spy.clean", spy);
  git("config", "filter.spy.smudge", spy);
  git("config", "core.fsmonitor", `touch ${proof}; false`);
  for (const hook of ["post-index-change", "pre-commit"]) {
    put(`.git/hooks/${hook}`, `#!/bin/sh\ntouch ${proof}\n`);
    chmodSync(join(folder, ".git/hooks", hook), 0o755);
  }
  const before = await snapshots.take(folder, signal);
  put("a.txt", "two\r\n");
  const found = await snapshots.changesSince(folder, before, signal);
  expect(await contentsOf(found)).toEqual({ "a.txt": ["one\r\n", "two\r\n"] });
  expect(existsSync(proof)).toBe(false);
});

test("repositories inside, links and files that are too large are named and left out", async () => {
  put("a.txt", "one\n");
  commitAll();
  put("nested/b.txt", "one\n");
  execFileSync("git", ["-C", join(folder, "nested"), "init", "-q", "."]);
  const before = await snapshots.take(folder, signal);
  put("nested/b.txt", "two\n");
  put("large.bin", "x".repeat(16 * 1024 * 1024 + 1));
  symlinkSync("/etc/passwd", join(folder, "link"));
  const { changes, notSaved } = await snapshots.changesSince(folder, before, signal);
  expect(changes).toEqual([]);
  expect(notSaved).toEqual(
    expect.arrayContaining([
      { path: "nested", reason: "repository" },
      { path: "large.bin", reason: "too_large" },
      { path: "link", reason: "link" },
    ]),
  );
});

test("a submodule is named and left as it is, and the files around it are saved", async () => {
  put("lib/inner.txt", "one\n");
  const inside = ["-C", join(folder, "lib"), "-c", "user.name=A", "-c", "user.email=a@b.example"];
  for (const args of [
    ["init", "-q"],
    ["add", "-A"],
    ["commit", "-qm", "Inner"],
  ])
    execFileSync("git", [...inside, ...args], { env: { PATH: process.env["PATH"] } });
  put("outer.txt", "one\n");
  put(".gitmodules", '[submodule "lib"]\n\tpath = lib\n\turl = ./lib\n');
  commitAll();
  const before = await snapshots.take(folder, signal);
  put("outer.txt", "two\n");
  put("lib/inner.txt", "two\n");
  execFileSync("git", [...inside, "commit", "-qam", "Moved"], {
    env: { PATH: process.env["PATH"] },
  });
  const found = await snapshots.changesSince(folder, before, signal);
  expect(await contentsOf(found)).toEqual({ "outer.txt": ["one\n", "two\n"] });
  expect(found.notSaved).toContainEqual({ path: "lib", reason: "repository" });
  expect(readFileSync(join(folder, "lib/inner.txt"), "utf8")).toBe("two\n");
});

test("an index that names files outside of the folder brings none of them in", async () => {
  put("a.txt", "one\n");
  commitAll();
  const index = join(folder, ".git", "index");
  // The same length, so that the rest of the index stays where it is; git does not check the hash of what it reads.
  const bytes = readFileSync(index);
  bytes.write("../b", bytes.indexOf("a.txt"));
  writeFileSync(index, bytes);
  writeFileSync(join(home, "b.t"), "secret\n");
  const before = await snapshots.take(folder, signal);
  put("a.txt", "two\n");
  const { changes } = await snapshots.changesSince(folder, before, signal);
  expect(changes.filter(({ path }) => path !== "a.txt")).toEqual([]);
});

test("of a folder with more new files than can be saved nothing is, and it says so", async () => {
  mkdirSync(join(folder, "many"));
  for (let file = 0; file <= 10_000; file += 1) writeFileSync(join(folder, "many", `${file}`), "");
  const before = await snapshots.take(folder, signal);
  expect(await snapshots.changesSince(folder, before, signal)).toEqual({
    changes: [],
    notSaved: [],
    missing: "too_many",
  });
});

test("a command that only deletes more files than can be saved says so", async () => {
  put("a.txt", "one\n");
  mkdirSync(join(folder, "many"));
  for (let file = 0; file < 10_000; file += 1) writeFileSync(join(folder, "many", `${file}`), "");
  commitAll();
  const before = await snapshots.take(folder, signal);
  const deleteHalf = (half: number): void => {
    for (let file = half; file < 10_000; file += 2) rmSync(join(folder, "many", `${file}`));
  };
  deleteHalf(0);
  // Another command saves the folder meanwhile, so that each time few enough have changed since the last.
  await snapshots.take(folder, signal);
  deleteHalf(1);
  rmSync(join(folder, "a.txt"));
  expect(await snapshots.changesSince(folder, before, signal)).toEqual({
    changes: [],
    notSaved: [],
    missing: "too_many",
  });
});

test("what is saved is deleted when no session that used the workspace exists any more", async () => {
  const session = { owner: ownerId.parse("owner"), session: ids.make("session") };
  const workspace = snapshots.workspaceOf(folder);
  await snapshots.keepFor(workspace, session);
  const id = await snapshots.put(workspace, Buffer.from("kept"));
  await snapshots.prune(async ({ session: asked }) => asked === session.session);
  expect(await snapshots.get(workspace, id)).not.toBeNull();
  await snapshots.prune(async () => false);
  expect(await snapshots.get(workspace, id)).toBeNull();
  expect(existsSync(join(home, "snapshots", workspace))).toBe(false);
});

test("two processes save one folder at once, and both snapshots are whole", async () => {
  for (let n = 0; n < 50; n += 1) put(`f${n}.txt`, "one\n");
  commitAll();
  const [one, other] = [snapshots, openSnapshots()];
  const [a, b] = await Promise.all([one.take(folder, signal), other.take(folder, signal)]);
  for (let n = 0; n < 50; n += 1) put(`f${n}.txt`, "two\n");
  const [first, second] = await Promise.all([
    one.changesSince(folder, a, signal),
    other.changesSince(folder, b, signal),
  ]);
  expect(first.changes).toHaveLength(50);
  expect(second.changes).toEqual(first.changes);
});

test("a folder that stalls git is left alone for ten minutes, and saved again when it no longer does", async () => {
  put("a.txt", "one\n");
  commitAll();
  let now = Date.now();
  const patient = openImpatient(() => now, { scanLimitMs: 300 });
  mkdirSync(join(folder, "deep"));
  execFileSync("mkfifo", [join(folder, "deep", ".gitignore")]);
  const stalled = await patient.take(folder, signal);
  expect(await patient.changesSince(folder, stalled, signal)).toMatchObject({ missing: "failed" });
  rmSync(join(folder, "deep"), { recursive: true });
  const rested = await patient.take(folder, signal);
  expect(await patient.changesSince(folder, rested, signal)).toMatchObject({ missing: "failed" });
  now += 10 * 60_000;
  const saved = openImpatient(() => now);
  const before = await saved.take(folder, signal);
  put("a.txt", "two\n");
  expect(await saved.changesSince(folder, before, signal)).toMatchObject({
    changes: [{ path: "a.txt" }],
  });
});

test("beyond its size the oldest contents go, what is younger stays, and commands are saved on", async () => {
  let now = Date.now();
  const small = openImpatient(() => now, { mostBytes: 40_000 });
  const workspace = small.workspaceOf(folder);
  await small.keepFor(workspace, {
    owner: ownerId.parse("owner"),
    session: ids.make("session"),
  });
  put("a.txt", "one\n");
  await small.take(folder, signal);
  const old = await small.put(workspace, randomBytes(30_000));
  now += 20 * 60_000;
  const fresh = await small.put(workspace, randomBytes(30_000));
  utimesSync(
    join(home, "snapshots", workspace, "objects", fresh.slice(0, 2), fresh.slice(2)),
    now / 1000,
    now / 1000,
  );
  await small.prune(async () => true);
  expect(await small.get(workspace, old)).toBeNull();
  expect(await small.get(workspace, fresh)).not.toBeNull();
  expect(await readRemoval(join(home, "snapshots"))).toMatchObject({ at: now });
  const before = await small.take(folder, signal);
  put("a.txt", "two\n");
  expect(await contentsOf(await small.changesSince(folder, before, signal), small)).toEqual({
    "a.txt": ["one\n", "two\n"],
  });
});
