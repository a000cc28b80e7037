import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createClient } from "@holdfast/client";
import { expect, onTestFinished, test } from "vitest";

import { valueOf } from "../../../../test/support/api-helpers.ts";
import { runHere, serveHere } from "../../../../test/support/command-rig.ts";

function git(folder: string, ...args: string[]): string {
  const identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
  return execFileSync("git", ["-C", folder, ...identity, ...args], { encoding: "utf8" }).trim();
}

test("a chat begins in a worktree with --worktree, and the worktree is listed, judged and removed", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-cli-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [home, repository] = [join(folder, "home"), join(folder, "tides")];
  mkdirSync(home);
  mkdirSync(repository);
  git(repository, "init", "-q", "-b", "main");
  git(repository, "commit", "-q", "--allow-empty", "-m", "first");
  const { settings, close } = await serveHere(home);
  onTestFinished(close);
  const client = createClient({
    baseUrl: settings.HOLDFAST_URL,
    token: settings.HOLDFAST_TOKEN,
  });
  const run = (...args: string[]) => runHere(args, settings);
  expect(await run("run", "--worktree", "--workspace", repository, "Hi {words:1}")).toMatchObject({
    code: 1,
  });
  expect(await run("run", "--worktree", "--own-folder", "Hi")).toMatchObject({ code: 2 });
  valueOf(await client.allowFolder({ body: { path: repository } }));
  expect(await run("run", "--worktree", "--workspace", repository, "Hi {words:1}")).toMatchObject({
    code: 0,
  });
  const [worktree] = valueOf(await client.listWorktrees()).worktrees;
  const { id, branch } = worktree!;
  expect((await run("worktrees")).said).toBe(
    `${id}\t${branch}\t${repository}\tin use\t0 files not committed, 0 commits not merged\n`,
  );
  writeFileSync(join(worktree!.folder, "herons.txt"), "two\n");
  const refused = await run("worktrees", "remove", id);
  expect(refused).toMatchObject({ code: 1 });
  const code = /--lose (\w+)/.exec(refused.told)?.[1] ?? "";
  expect(await run("worktrees", "remove", id, "--lose", code)).toMatchObject({
    code: 0,
    said: `Removed. The branch ${branch} is kept.\n`,
  });
  expect((await run("worktrees")).told).toContain("No worktrees.");
  expect(await run("worktrees", "remove", "nonsense")).toMatchObject({ code: 2 });
});
