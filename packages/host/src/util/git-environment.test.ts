import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { gitEnvironment } from "./git-environment.ts";

/** A repository whose files name a program that leaves a mark. */
function openRepository() {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-git-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const work = join(folder, "work");
  const mark = join(folder, "ran");
  const evil = join(folder, "evil");
  mkdirSync(work);
  writeFileSync(evil, `#!/bin/sh\ntouch ${mark}\n`);
  chmodSync(evil, 0o755);
  const plain = { PATH: process.env["PATH"] ?? "", HOME: folder };
  const git = (args: readonly string[], environment: Record<string, string>): void => {
    try {
      execFileSync("git", args, { cwd: work, env: environment, stdio: "ignore" });
    } catch {
      // It may fail; what counts is what it started.
    }
  };
  /** Whether git started the program, without and with the settings. */
  function startedBy(...args: string[]): readonly boolean[] {
    return [plain, { ...plain, ...gitEnvironment }].map((environment) => {
      rmSync(mark, { force: true });
      git(args, environment);
      return existsSync(mark);
    });
  }
  return { work, evil, startedBy, git: (...args: string[]) => git(args, plain) };
}

function committed() {
  const repository = openRepository();
  const { work, git } = repository;
  git("init", "-q");
  git("config", "user.email", "a@example.org");
  git("config", "user.name", "A");
  writeFileSync(join(work, "a"), "a");
  git("add", "a");
  git("commit", "-qm", "a");
  writeFileSync(join(work, "a"), "b");
  return repository;
}

test("[safety] git does not use a repository hidden among the files of a workspace", () => {
  const { work, evil, startedBy } = openRepository();
  mkdirSync(join(work, "objects"));
  mkdirSync(join(work, "refs"));
  writeFileSync(join(work, "HEAD"), "ref: refs/heads/main\n");
  writeFileSync(
    join(work, "config"),
    `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = ${evil}\n`,
  );
  expect(startedBy("status")).toEqual([true, false]);
});

test("[safety] git starts no monitor, hook, editor, proxy or transport that a repository names", () => {
  const { work, evil, git, startedBy } = committed();
  git("config", "core.fsmonitor", evil);
  expect(startedBy("status")).toEqual([true, false]);
  git("config", "--unset", "core.fsmonitor");

  const hook = join(work, ".git/hooks/pre-commit");
  mkdirSync(join(work, ".git/hooks"), { recursive: true });
  writeFileSync(hook, `#!/bin/sh\nexec ${evil}\n`);
  chmodSync(hook, 0o755);
  expect(startedBy("commit", "-qam", "b", "--allow-empty")).toEqual([true, false]);
  rmSync(hook);

  git("config", "core.editor", evil);
  expect(startedBy("commit", "--allow-empty")).toEqual([true, false]);
  git("config", "core.sshCommand", evil);
  expect(startedBy("ls-remote", "ssh://127.0.0.1:1/x")).toEqual([true, false]);
  git("config", "core.gitProxy", evil);
  expect(startedBy("ls-remote", "git://127.0.0.1:1/x")).toEqual([true, false]);
  git("config", "protocol.ext.allow", "always");
  expect(startedBy("ls-remote", `ext::${evil}`)).toEqual([true, false]);
});
