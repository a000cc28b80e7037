import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { expect, test } from "vitest";

import { valueOf } from "../served-host.ts";
import { createPageRig, send, sessionOf, untilDone } from "./page-rig.ts";

const rig = createPageRig();

function git(folder: string, ...args: string[]): string {
  const identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
  return execFileSync("git", ["-C", folder, ...identity, ...args], { encoding: "utf8" }).trim();
}

test("a conversation begins in a worktree; its branch is shown, and removing it names what is lost", async () => {
  const repository = join(dirname(realpathSync(rig.home())), "worktree-tides");
  mkdirSync(repository);
  git(repository, "init", "-q", "-b", "main");
  git(repository, "commit", "-q", "--allow-empty", "-m", "first");
  valueOf(await rig.client().allowFolder({ body: { path: repository } }));
  const { tab, consoleErrors } = await rig.openTab();
  await tab.getByRole("button", { name: "Folder" }).click();
  await tab.getByRole("menuitemradio", { name: "worktree-tides" }).click();
  await tab.getByRole("button", { name: "Folder" }).click();
  await tab.getByRole("menuitemradio", { name: "In a worktree" }).click();
  await tab.getByRole("button", { name: "worktree-tides (worktree). Folder" }).waitFor();
  await send(tab, "Hello {words:2}");
  await untilDone(tab);
  const { session } = valueOf(await rig.client().readSession({ params: { id: sessionOf(tab) } }));
  const { worktrees } = valueOf(await rig.client().listWorktrees());
  const worktree = worktrees.find(({ workspace }) => workspace === session.workspace)!;
  writeFileSync(join(worktree.folder, "herons.txt"), "two\n");

  await tab.getByRole("button", { name: "Files", exact: true }).click();
  await tab.getByText(`git merge ${worktree.branch}`).waitFor();
  await tab.getByText("1 file not committed, 0 commits not merged").waitFor();
  await tab.getByRole("button", { name: "Remove with its branch…" }).click();
  const dialog = tab.getByRole("dialog");
  await dialog.getByText("1 file that is not committed", { exact: false }).waitFor();
  await dialog.getByRole("button", { name: "Remove and discard this work" }).click();
  await tab.getByText("There is no such worktree", { exact: false }).waitFor();
  expect(git(repository, "branch", "--format=%(refname:short)")).toBe("main");
  expect(consoleErrors.filter((line) => !line.includes("404"))).toEqual([]);
});
