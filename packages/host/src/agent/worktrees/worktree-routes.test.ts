import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";

function git(folder: string, ...args: string[]): string {
  const identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
  return execFileSync("git", ["-C", folder, ...identity, ...args], { encoding: "utf8" }).trim();
}

function open() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-worktrees-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [home, repository] = [join(folder, "home"), join(folder, "tides")];
  mkdirSync(home);
  mkdirSync(repository);
  git(repository, "init", "-q", "-b", "main");
  git(repository, "commit", "-q", "--allow-empty", "-m", "first");
  const rig = openApi([], { home, workspaceRoots: [folder] });
  onTestFinished(async () => {
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  const branches = () => git(repository, "branch", "--format=%(refname:short)").split("\n");
  async function begin(branch: string) {
    const { session } = valueOf(
      await rig.client.createSession({ body: { workspace: repository, worktree: { branch } } }),
    );
    const { worktrees } = valueOf(await rig.client.listWorktrees());
    const worktree = worktrees.find((each) => each.workspace === session.workspace)!;
    return { session, worktree };
  }
  return { ...rig, home, repository, branches, begin };
}

test("a session begins in a worktree, which is listed with its work, and removed only by a word for it", async () => {
  const { client, begin, branches } = open();
  const { session, worktree } = await begin("herons");
  expect(session.workspace).toBe(worktree.workspace);
  expect(worktree).toMatchObject({ branch: "herons", isUsed: true, state: "ready" });
  writeFileSync(join(worktree.folder, "herons.txt"), "two\n");
  const params = { id: worktree.id };
  const read = valueOf(await client.readWorktree({ params })).worktree;
  expect(read.work).toMatchObject({ changes: 1, commits: 0 });
  expect(await client.removeWorktree({ params, body: { branch: "delete" } })).toMatchObject({
    error: { code: "worktree_has_work" },
  });
  const lose = read.work?.hash ?? "";
  expect(await client.removeWorktree({ params, body: { branch: "delete", lose } })).toMatchObject({
    ok: true,
  });
  expect([existsSync(worktree.folder), branches()]).toEqual([false, ["main"]]);
  expect(await client.readWorktree({ params })).toMatchObject({
    error: { code: "worktree_not_found" },
  });
});

test("a session is not deleted for good with work in its worktree, unless the worktree is kept", async () => {
  const { client, begin, branches } = open();
  const { session, worktree } = await begin("herons");
  writeFileSync(join(worktree.folder, "herons.txt"), "two\n");
  const params = { id: session.id };
  valueOf(await client.trashSession({ params }));
  expect(await client.purgeSession({ params, query: {} })).toMatchObject({
    error: { code: "worktree_has_work" },
  });
  expect(valueOf(await client.emptyTrash())).toEqual({ sessions: 0, kept: 1 });
  valueOf(await client.purgeSession({ params, query: { worktree: "keep" } }));
  const { worktrees } = valueOf(await client.listWorktrees());
  expect(worktrees).toMatchObject([{ branch: "herons", isUsed: false, work: { changes: 1 } }]);
  expect(branches()).toEqual(["herons", "main"]);
});

test("a worktree without work goes with its last session, and stays for another one", async () => {
  const { client, begin, branches } = open();
  const { session, worktree } = await begin("herons");
  const { workspace } = worktree;
  const other = valueOf(await client.createSession({ body: { workspace } })).session;
  const purge = async (id: typeof session.id) => {
    valueOf(await client.trashSession({ params: { id } }));
    valueOf(await client.purgeSession({ params: { id }, query: {} }));
  };
  await purge(session.id);
  expect(existsSync(worktree.folder)).toBe(true);
  await purge(other.id);
  expect([existsSync(worktree.folder), branches()]).toEqual([false, ["main"]]);
});

test("a folder that is no repository, or none that may be used, begins no session", async () => {
  const { client, home, repository } = open();
  const begin = (workspace: string) => client.createSession({ body: { workspace, worktree: {} } });
  mkdirSync(join(repository, "below"));
  expect(await begin(join(repository, "below"))).toMatchObject({
    error: { code: "worktree_unavailable" },
  });
  expect(await begin("plain")).toMatchObject({ error: { code: "worktree_unavailable" } });
  expect(await begin(home)).toMatchObject({ error: { code: "invalid_request" } });
  expect(valueOf(await client.listSessions({})).sessions).toEqual([]);
});
