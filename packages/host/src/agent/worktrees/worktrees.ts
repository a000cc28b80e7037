import { createHash, randomBytes } from "node:crypto";
import { lstat, realpath, rm } from "node:fs/promises";

import type { Store } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";

import type { Confinement } from "../../sandbox/confinement.ts";
import { findProgram } from "../../sandbox/find-program.ts";
import { allowedEnvironment, runCommand } from "../../sandbox/run-command.ts";
import { withFileLock } from "../../util/atomic-file.ts";
import { gitEnvironment } from "../../util/git-environment.ts";
import {
  folderOfWorktree,
  forgetWorktree,
  gitFolderOf,
  listWorktrees,
  readWorktree,
  recordFile,
  type WorktreeRecord,
  worktreesFolder,
  worktreeWorkspace,
  writeWorktree,
} from "./worktree-record.ts";

/** What would be lost with a worktree. */
export interface WorktreeWork {
  /** Changed and new files that are not committed. */
  readonly changes: number;
  /** Commits that no other branch, remote branch or tag has. */
  readonly commits: number;
  /** Those that not even the worktree's own branch has. */
  readonly looseCommits: number;
  /** Names exactly this state. */
  readonly hash: string;
}

export type BranchChoice = "keep" | "delete";

export type WorktreeRemoval =
  | { readonly status: "removed" }
  | { readonly status: "not_found" | "busy" }
  /** Something would be lost that nobody has confirmed. */
  | { readonly status: "has_work"; readonly work: WorktreeWork }
  | { readonly status: "failed"; readonly reason: string };

export type WorktreeCreation<T> =
  | { readonly status: "made"; readonly value: T }
  | { readonly status: "refused"; readonly reason: string };

/** Worktrees of git, each with a branch of its own, in the home of the host. */
export interface Worktrees {
  /**
   * Makes one of the repository in this folder and passes its workspace's name to `use`. If that comes to nothing
   * (`null`, or an error), the worktree goes again.
   */
  create<T>(
    wanted: { readonly owner: OwnerId; readonly repository: string; readonly branch?: string },
    use: (workspace: string) => Promise<T | null>,
  ): Promise<WorktreeCreation<T> | { readonly status: "unused" }>;
  read(owner: OwnerId, id: string): Promise<WorktreeRecord | null>;
  /** All of this owner, also those that were never finished. */
  list(owner: OwnerId): Promise<readonly WorktreeRecord[]>;
  /** `null`: it cannot be found out. */
  work(record: WorktreeRecord): Promise<WorktreeWork | null>;
  /** `lose` is the hash of the work that a person has agreed to lose. */
  remove(
    record: WorktreeRecord,
    choice: { readonly branch: BranchChoice; readonly lose?: string | undefined },
  ): Promise<WorktreeRemoval>;
  /** Whether any session works there, in the trash or not. */
  isUsed(record: WorktreeRecord): Promise<boolean>;
  /** Finishes what a killed host left, and removes what no session uses if nothing is lost by that. */
  recover(): Promise<void>;
  readonly folderOf: (id: string) => string;
}

export interface WorktreesDeps {
  readonly home: string;
  readonly reads: Pick<Store["reads"], "sessions">;
  readonly confinement: Pick<Confinement, "confine">;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly git?: string | null;
}

const gitTimeLimitMs = 120_000;
const branchPattern =
  /^(?!.*(?:\.\.|\/\/|\/\.|\.lock(?:\/|$)))[A-Za-z0-9][A-Za-z0-9._/-]{0,99}(?<![./])$/u;

export function openWorktrees(deps: WorktreesDeps): Worktrees {
  const { home, reads, confinement } = deps;
  const { git = findProgram("git") } = deps;
  const environment = { ...allowedEnvironment(deps.environment), ...gitEnvironment };

  /** In the sandbox: a repository's configuration can name programs, and agents can have written it. */
  async function run(
    repository: string,
    { writable, folder }: { readonly writable: readonly string[]; readonly folder: string },
    ...args: readonly string[]
  ): Promise<{ readonly ok: boolean; readonly output: string }> {
    if (git === null) return { ok: false, output: "git is not installed on this machine." };
    const argv: readonly [string, ...string[]] = [
      git,
      `--git-dir=${gitFolderOf({ repository })}`,
      ...args,
    ];
    const confined = await confinement.confine(
      { argv, folder, environment },
      { writable: [gitFolderOf({ repository }), ...writable], network: "none" },
    );
    if (!confined.ok) return { ok: false, output: confined.message };
    const end = await runCommand({
      ...confined.command,
      network: confined.network,
      timeLimitMs: gitTimeLimitMs,
      signal: new AbortController().signal,
    });
    return { ok: end.kind === "exited" && end.code === 0, output: end.output.trim() };
  }

  const inFolders = (repository: string, ...args: readonly string[]) =>
    run(repository, { writable: [worktreesFolder(home)], folder: worktreesFolder(home) }, ...args);

  /** Why no worktree can be made of this folder. */
  async function refusal(repository: string): Promise<string | null> {
    if (git === null) return "git is not installed on this machine.";
    const found = await lstat(gitFolderOf({ repository })).catch(() => null);
    if (found === null) return `${repository} is not the top folder of a git repository.`;
    // Its commands could write where nobody allowed them to.
    if (!found.isDirectory())
      return `${repository} is a worktree or a submodule itself: choose the folder of its repository.`;
    return null;
  }

  async function make(record: WorktreeRecord): Promise<string | null> {
    const { id, repository, branch } = record;
    await writeWorktree(home, { ...record, base: "" });
    const head = await inFolders(repository, "rev-parse", "--verify", "--quiet", "HEAD^{commit}");
    if (!head.ok) return `${repository} has no commit yet: commit something first.`;
    const known = await inFolders(
      repository,
      "rev-parse",
      "--verify",
      "--quiet",
      `refs/heads/${branch}`,
    );
    if (known.ok) return `There is already a branch ${branch}: choose another name.`;
    await writeWorktree(home, { ...record, base: head.output });
    const added = await inFolders(
      repository,
      "worktree",
      "add",
      "--quiet",
      "-b",
      branch,
      "--",
      folderOfWorktree(home, id),
      head.output,
    );
    if (!added.ok) return `git could not make the worktree: ${added.output.slice(0, 500)}`;
    await writeWorktree(home, { ...record, base: head.output, state: "ready" });
    return null;
  }

  /** Safe to repeat. */
  async function finishRemoval(record: WorktreeRecord): Promise<string | null> {
    const { id, repository, branch, deleteBranch = false, base } = record;
    const folder = folderOfWorktree(home, id);
    const isThere = (await lstat(gitFolderOf(record)).catch(() => null))?.isDirectory() === true;
    if (isThere)
      await inFolders(repository, "worktree", "remove", "--force", "--force", "--", folder);
    await rm(folder, { recursive: true, force: true });
    if (isThere) {
      // It forgets the worktree whose folder is gone, and no other one.
      await inFolders(repository, "worktree", "remove", "--force", "--force", "--", folder);
      const isOurs = base !== "" && deleteBranch;
      const known = await inFolders(
        repository,
        "rev-parse",
        "--verify",
        "--quiet",
        `refs/heads/${branch}`,
      );
      // One that was never finished may have the name of a branch that somebody made since.
      const isSafe = record.state !== "making" || known.output === base;
      if (isOurs && known.ok && isSafe) {
        const deleted = await inFolders(repository, "branch", "-D", "--", branch);
        if (!deleted.ok) return deleted.output.slice(0, 500);
      }
    }
    await forgetWorktree(home, id);
    return null;
  }

  /** For one that no session works in yet. */
  async function undo(id: string): Promise<void> {
    const made = await readWorktree(home, id);
    if (made !== null) await finishRemoval({ ...made, state: "making", deleteBranch: true });
  }

  async function work(record: WorktreeRecord): Promise<WorktreeWork | null> {
    const { id, repository, branch } = record;
    const folder = folderOfWorktree(home, id);
    if ((await lstat(folder).catch(() => null)) === null)
      return { changes: 0, commits: 0, looseCommits: 0, hash: "gone" };
    const inside = `${gitFolderOf(record)}/worktrees/${id}`;
    const within = { writable: [folder], folder };
    const at = [`--git-dir=${inside}`, `--work-tree=${folder}`];
    const others = [`--exclude=${branch}`, "--branches", "--remotes", "--tags"];
    const own = `refs/heads/${branch}`;
    const [status, head, tip, commits, loose] = [
      await run(repository, within, ...at, "status", "--porcelain", "-z", "--untracked-files=all"),
      await run(repository, within, ...at, "rev-parse", "HEAD"),
      await run(repository, within, "rev-parse", "--verify", "--quiet", own),
      await run(repository, within, ...at, "rev-list", "--count", "HEAD", own, "--not", ...others),
      await run(
        repository,
        within,
        ...at,
        "rev-list",
        "--count",
        "HEAD",
        "--not",
        "--branches",
        "--remotes",
        "--tags",
      ),
    ];
    // Without its own branch, which somebody has deleted, only its head counts.
    const counted = tip.ok
      ? commits
      : await run(repository, within, ...at, "rev-list", "--count", "HEAD", "--not", ...others);
    const numbers = [Number(counted.output), Number(loose.output)];
    if (!status.ok || !head.ok || !counted.ok || !loose.ok) return null;
    if (!numbers.every(Number.isSafeInteger)) return null;
    const entries = status.output.split("\0").filter((entry) => entry !== "");
    const hash = createHash("sha256")
      .update(JSON.stringify([status.output, head.output, tip.output]))
      .digest("hex");
    return {
      changes: entries.length,
      commits: Number(counted.output),
      looseCommits: Number(loose.output),
      hash,
    };
  }

  async function isUsed({ owner, id }: WorktreeRecord): Promise<boolean> {
    const workspace = worktreeWorkspace(id);
    for (const shelf of ["active", "archived", "trash"] as const) {
      const { sessions } = await reads.sessions(owner, { shelf, workspace, limit: 1 });
      if (sessions.length > 0) return true;
    }
    return false;
  }

  const remove: Worktrees["remove"] = async (record, { branch, lose }) => {
    const done = await withFileLock(
      recordFile(home, record.id),
      async (): Promise<WorktreeRemoval> => {
        const known = await readWorktree(home, record.id);
        if (known === null) return { status: "not_found" };
        const found = await work(known);
        if (found === null)
          return { status: "failed", reason: "git cannot say what is in the worktree." };
        const lost = found.changes + (branch === "delete" ? found.commits : found.looseCommits);
        if (lost > 0 && lose !== found.hash) return { status: "has_work", work: found };
        const removing = {
          ...known,
          state: "removing",
          deleteBranch: branch === "delete",
        } as const;
        await writeWorktree(home, removing);
        const reason = await finishRemoval(removing);
        return reason === null ? { status: "removed" } : { status: "failed", reason };
      },
    );
    return done === "busy" ? { status: "busy" } : done;
  };

  async function recoverOne(record: WorktreeRecord): Promise<void> {
    if (record.state === "ready") {
      if (!(await isUsed(record))) await remove(record, { branch: "delete" });
      return;
    }
    await withFileLock(recordFile(home, record.id), async () => {
      const known = await readWorktree(home, record.id);
      // Nobody has worked in one that was never finished: its branch has nothing of its own.
      if (known?.state === "making") await finishRemoval({ ...known, deleteBranch: true });
      if (known?.state === "removing") await finishRemoval(known);
    });
  }

  return {
    work,
    remove,
    isUsed,
    folderOf: (id) => folderOfWorktree(home, id),
    async read(owner, id) {
      const record = await readWorktree(home, id);
      return record?.owner === owner && record.state === "ready" ? record : null;
    },
    list: async (owner) => (await listWorktrees(home)).filter((each) => each.owner === owner),
    async create({ owner, repository: given, branch: wanted }, use) {
      const repository = await realpath(given);
      const id = randomBytes(8).toString("hex");
      const branch = wanted ?? `holdfast/${id.slice(0, 8)}`;
      const reason = branchPattern.test(branch)
        ? await refusal(repository)
        : `${JSON.stringify(branch.slice(0, 100))} is not a name for a branch.`;
      if (reason !== null) return { status: "refused", reason };
      const record: WorktreeRecord = { id, owner, repository, branch, base: "", state: "making" };
      // Held until a session works there: nobody else takes it for a leftover.
      const done = await withFileLock(recordFile(home, id), async () => {
        const problem = await make(record);
        if (problem !== null) {
          await undo(id);
          return { status: "refused", reason: problem } as const;
        }
        try {
          const value = await use(worktreeWorkspace(id));
          if (value !== null) return { status: "made", value } as const;
        } catch (error) {
          await undo(id);
          throw error;
        }
        await undo(id);
        return { status: "unused" } as const;
      });
      return done === "busy"
        ? { status: "refused", reason: "Another process is making a worktree. Try again." }
        : done;
    },
    async recover() {
      for (const record of await listWorktrees(home)) await recoverOne(record);
    },
  };
}
