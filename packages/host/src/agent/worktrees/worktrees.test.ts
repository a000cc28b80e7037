import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createLog } from "@holdfast/engine";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { openConfinement } from "../../sandbox/confinement.ts";
import { runCommand } from "../../sandbox/run-command.ts";
import { terminalProfile } from "../tools/terminal.ts";
import { openWorkspaces } from "../workspace/workspaces.ts";
import { readWorktree, sharedGitFolder, worktreeIdOf, writeWorktree } from "./worktree-record.ts";
import { openWorktrees } from "./worktrees.ts";

const person = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "Ada",
  GIT_AUTHOR_EMAIL: "ada@example.org",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@example.org",
};

function git(folder: string, ...args: string[]): string {
  const env = { ...process.env, ...person };
  return execFileSync("git", ["-C", folder, ...args], {
    env,
    encoding: "utf8",
    stdio: "pipe",
  }).trim();
}

/** A repository with one commit, and a host whose processes are confined where that works. */
async function open() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-worktrees-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [home, repository] = [join(folder, "home"), join(folder, "tides")];
  mkdirSync(home);
  mkdirSync(repository);
  git(repository, "init", "-q", "-b", "main");
  writeFileSync(join(repository, "tides.txt"), "high\n");
  git(repository, "add", ".");
  git(repository, "commit", "-qm", "first");
  const store = createReferenceStore();
  const { owner } = await openTestSession(store);
  const confinement = openConfinement({
    mode: "preferred",
    home,
    folders: [],
    processes: 200,
    memoryMegabytes: 0,
    fileMegabytes: 100,
    environment: process.env,
    egressAllow: [],
  });
  const { reads } = store;
  const worktrees = openWorktrees({ home, reads, confinement, environment: process.env });
  const workspaces = openWorkspaces({ home, roots: [folder] }, store);

  async function begin(branch?: string) {
    const made = await worktrees.create(
      { owner, repository, ...(branch !== undefined && { branch }) },
      async (workspace) => openTestSession(store, { workspace }, owner),
    );
    if (made.status !== "made") throw new Error(JSON.stringify(made));
    const row = await reads.session(owner, made.value.session);
    const id = worktreeIdOf(row?.workspace ?? null) ?? "";
    const record = await worktrees.read(owner, id);
    if (record === null) throw new Error("There is no record.");
    const { folder: place } = await workspaces.placeFor({ owner, session: made.value.session });
    const { session } = made.value;
    return { session, id, record, place };
  }
  const branches = () => git(repository, "branch", "--format=%(refname:short)").split("\n");
  const left = () => readdirSync(join(home, "worktrees"));
  return {
    home,
    repository,
    store,
    owner,
    confinement,
    worktrees,
    workspaces,
    begin,
    branches,
    left,
  };
}

test("a session works in a worktree on a branch of its own, and the repository's files stay", async () => {
  const host = await open();
  const { place, record } = await host.begin("herons");
  expect(git(place, "rev-parse", "--abbrev-ref", "HEAD")).toBe("herons");
  expect(record.base).toBe(git(host.repository, "rev-parse", "HEAD"));
  writeFileSync(join(place, "herons.txt"), "two\n");
  expect(existsSync(join(host.repository, "herons.txt"))).toBe(false);
  const other = await host.begin();
  expect(other.place).not.toBe(place);
  expect(host.branches()).toEqual(["herons", other.record.branch, "main"].toSorted());
});

test("[safety] a confined command commits in its worktree, and cannot change the repository's files", async () => {
  const host = await open();
  const { place } = await host.begin("herons");
  const profile = terminalProfile(place, {}, await host.workspaces.sharedGit(place));
  const script = `git -c user.name=A -c user.email=a@b.c commit -q --allow-empty -m heron && touch ${host.repository}/stray`;
  const confined = await host.confinement.confine(
    {
      argv: ["/bin/sh", "-c", script],
      folder: place,
      environment: { PATH: process.env["PATH"] ?? "" },
    },
    profile,
  );
  if (!confined.ok) throw new Error(confined.message);
  const end = await runCommand({
    ...confined.command,
    timeLimitMs: 20_000,
    signal: new AbortController().signal,
  });
  expect(git(host.repository, "log", "-1", "--format=%s", "herons")).toBe("heron");
  expect(end).toMatchObject({ kind: "exited" });
  const isConfined = (await host.confinement.state()).kind !== "none";
  expect(existsSync(join(host.repository, "stray"))).toBe(!isConfined);
});

test("[safety] the shared folder of git comes from the record, whatever the worktree says", async () => {
  const host = await open();
  const { place } = await host.begin();
  writeFileSync(join(place, ".git"), "gitdir: /etc\n");
  expect(await sharedGitFolder(host.home, place)).toBe(join(host.repository, ".git"));
  expect(await sharedGitFolder(host.home, host.repository)).toBeNull();
  expect(await sharedGitFolder(host.home, join(host.home, "worktrees"))).toBeNull();
});

test("uncommitted and unmerged work is lost only by exactly that word", async () => {
  const host = await open();
  const { place, record } = await host.begin("herons");
  writeFileSync(join(place, "herons.txt"), "two\n");
  const refused = await host.worktrees.remove(record, { branch: "keep" });
  expect(refused).toMatchObject({ status: "has_work", work: { changes: 1, commits: 0 } });
  if (refused.status !== "has_work") return;
  // Agreed to another loss than the one that there is now.
  git(place, "add", ".");
  git(place, "commit", "-qm", "herons");
  const { hash } = refused.work;
  const again = await host.worktrees.remove(record, { branch: "delete", lose: hash });
  expect(again).toMatchObject({ status: "has_work", work: { changes: 0, commits: 1 } });
  // With its branch nothing is lost.
  expect(await host.worktrees.remove(record, { branch: "keep" })).toEqual({ status: "removed" });
  expect([existsSync(place), host.branches(), host.left()]).toEqual([
    false,
    ["herons", "main"],
    [],
  ]);
  expect(git(host.repository, "worktree", "list").split("\n")).toHaveLength(1);
});

test("with the right word it goes with its branch, and a merged one needs no word", async () => {
  const host = await open();
  const first = await host.begin("herons");
  git(first.place, "commit", "-q", "--allow-empty", "-m", "only here");
  const work = await host.worktrees.work(first.record);
  const lose = work?.hash;
  expect(await host.worktrees.remove(first.record, { branch: "delete", lose })).toEqual({
    status: "removed",
  });
  const second = await host.begin("winds");
  git(second.place, "commit", "-q", "--allow-empty", "-m", "merged");
  git(host.repository, "merge", "-q", "winds");
  expect(await host.worktrees.remove(second.record, { branch: "delete" })).toEqual({
    status: "removed",
  });
  expect(host.branches()).toEqual(["main"]);
});

test("commits on no branch at all are work too", async () => {
  const host = await open();
  const { place, record } = await host.begin("herons");
  git(place, "checkout", "-q", "--detach");
  git(place, "commit", "-q", "--allow-empty", "-m", "loose");
  expect(await host.worktrees.remove(record, { branch: "keep" })).toMatchObject({
    status: "has_work",
    work: { looseCommits: 1 },
  });
});

test.each([
  ["a folder without git", (folder: string) => mkdirSync(folder), "not the top folder"],
  [
    "a repository without a commit",
    (folder: string) => git("/", "init", "-q", folder),
    "no commit",
  ],
  [
    "a worktree",
    (folder: string) => git(join(folder, "../tides"), "worktree", "add", "-q", folder),
    "a worktree or a submodule",
  ],
])("none is made of %s, and nothing is left", async (_, prepare, reason) => {
  const host = await open();
  const folder = join(host.repository, "../other");
  prepare(folder);
  const made = await host.worktrees.create(
    { owner: host.owner, repository: folder },
    async () => 1,
  );
  expect(made).toMatchObject({
    status: "refused",
    reason: expect.stringContaining(reason) as string,
  });
  expect(existsSync(join(host.home, "worktrees")) ? host.left() : []).toEqual([]);
});

test("a branch that is there already is left alone, and so is a name that git does not take", async () => {
  const host = await open();
  git(host.repository, "branch", "herons");
  const create = (branch: string) =>
    host.worktrees.create(
      { owner: host.owner, repository: host.repository, branch },
      async () => 1,
    );
  expect(await create("herons")).toMatchObject({ status: "refused" });
  for (const name of ["-x", "a..b", "a.lock", "x/"])
    expect(await create(name)).toMatchObject({ status: "refused" });
  expect(host.branches()).toEqual(["herons", "main"]);
});

test("a session that does not come to be leaves no worktree", async () => {
  const host = await open();
  const wanted = { owner: host.owner, repository: host.repository, branch: "herons" };
  expect(await host.worktrees.create(wanted, async () => null)).toEqual({ status: "unused" });
  const failing = host.worktrees.create(wanted, async () => Promise.reject(new Error("away")));
  await expect(failing).rejects.toThrow("away");
  expect([host.branches(), host.left()]).toEqual([["main"], []]);
});

test("[P6] what a killed host left is finished: making and removing, at any point", async () => {
  const host = await open();
  const { id, record, place } = await host.begin("herons");
  // Killed in the middle of a removal.
  await writeWorktree(host.home, { ...record, state: "removing", deleteBranch: true });
  rmSync(join(place, "tides.txt"));
  await host.worktrees.recover();
  expect([host.branches(), host.left()]).toEqual([["main"], []]);
  // Killed before git was asked, and after it had made everything.
  const base = git(host.repository, "rev-parse", "HEAD");
  const making = { ...record, base, state: "making" } as const;
  await writeWorktree(host.home, { ...making, base: "" });
  await host.worktrees.recover();
  expect(host.left()).toEqual([]);
  git(host.repository, "worktree", "add", "-q", "-b", "herons", join(host.home, "worktrees", id));
  await writeWorktree(host.home, making);
  const lock = join(host.home, "worktrees", `${id}.json.lock`);
  mkdirSync(lock);
  await host.worktrees.recover();
  // Another process may still be making it.
  expect(host.branches()).toEqual(["herons", "main"]);
  utimesSync(lock, 1, 1);
  await host.worktrees.recover();
  expect([host.branches(), host.left()]).toEqual([["main"], []]);
});

test("a branch of the same name that somebody made meanwhile survives", async () => {
  const host = await open();
  const base = git(host.repository, "rev-parse", "HEAD");
  const { owner, repository } = host;
  const id = "0123456789abcdef";
  git(repository, "checkout", "-qb", "herons");
  git(repository, "commit", "-q", "--allow-empty", "-m", "mine");
  git(repository, "checkout", "-q", "main");
  mkdirSync(join(host.home, "worktrees"));
  await writeWorktree(host.home, {
    id,
    owner,
    repository,
    branch: "herons",
    base,
    state: "making",
  });
  await host.worktrees.recover();
  expect(host.branches()).toEqual(["herons", "main"]);
  expect(host.left()).toEqual([]);
});

test("one that a session works in stays, with or without work", async () => {
  const host = await open();
  const { place, record, session } = await host.begin("herons");
  await host.worktrees.recover();
  expect(existsSync(join(place, "tides.txt"))).toBe(true);
  await createLog(host.store).trashSession(host.owner, session);
  await host.worktrees.recover();
  expect(existsSync(join(place, "tides.txt"))).toBe(true);
  expect(await host.worktrees.read(host.owner, record.id)).toEqual(record);
});

test("one that no session uses goes by itself only without work", async () => {
  const host = await open();
  const { owner, repository, worktrees } = host;
  const make = (branch: string) =>
    worktrees.create({ owner, repository, branch }, async (workspace) => workspace);
  const [idle, busy] = [await make("idle"), await make("busy")];
  if (idle.status !== "made" || busy.status !== "made") throw new Error("not made");
  const id = worktreeIdOf(busy.value) ?? "";
  writeFileSync(join(worktrees.folderOf(id), "herons.txt"), "two\n");
  await worktrees.recover();
  expect(host.branches()).toEqual(["busy", "main"]);
  expect(await readWorktree(host.home, id)).toMatchObject({ branch: "busy" });
  expect(readFileSync(join(worktrees.folderOf(id), "herons.txt"), "utf8")).toBe("two\n");
});

test("[safety] a worktree is its owner's, and counts only as long as its repository may be used", async () => {
  const host = await open();
  const { record, session } = await host.begin();
  const closed = openWorkspaces(
    { home: host.home, roots: [join(host.home, "..", "other")] },
    host.store,
  );
  await expect(closed.placeFor({ owner: host.owner, session })).rejects.toThrow(
    "not below a folder",
  );
  await writeWorktree(host.home, { ...record, owner: "somebody" as typeof record.owner });
  await expect(host.workspaces.placeFor({ owner: host.owner, session })).rejects.toThrow(
    "no longer exists",
  );
});
