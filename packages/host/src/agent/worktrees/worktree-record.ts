import { lstat, readdir, realpath, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import { ownerId } from "@holdfast/protocol";
import { z } from "zod";

import { readTextOrEmpty, writeFileAtomically } from "../../util/atomic-file.ts";

/** What the host knows of a worktree that it made. It lies beside the folder, where no command of an agent can write. */
const worktreeRecord = z.looseObject({
  id: z.string().regex(/^[0-9a-f]{16}$/u),
  owner: ownerId,
  /** The folder of the repository, without links. */
  repository: z.string(),
  branch: z.string(),
  /** The commit that it began with. */
  base: z.string(),
  /** `making` and `removing`: a host was killed in the middle if nobody holds the lock. */
  state: z.enum(["making", "ready", "removing"]),
  /** Whether the branch goes with the folder. */
  deleteBranch: z.boolean().optional(),
});
export type WorktreeRecord = z.infer<typeof worktreeRecord>;

const workspacePattern = /^worktree:(?<id>[0-9a-f]{16})$/u;

export function worktreeWorkspace(id: string): string {
  return `worktree:${id}`;
}

/** The worktree that a workspace's name stands for. */
export function worktreeIdOf(workspace: string | null): string | null {
  return workspacePattern.exec(workspace ?? "")?.groups?.["id"] ?? null;
}

export function worktreesFolder(home: string): string {
  return join(resolve(home), "worktrees");
}

export function folderOfWorktree(home: string, id: string): string {
  return join(worktreesFolder(home), id);
}

export function recordFile(home: string, id: string): string {
  return `${folderOfWorktree(home, id)}.json`;
}

export async function readWorktree(home: string, id: string): Promise<WorktreeRecord | null> {
  const text = await readTextOrEmpty(recordFile(home, id));
  if (text === "") return null;
  try {
    return worktreeRecord.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

export async function writeWorktree(home: string, record: WorktreeRecord): Promise<void> {
  await writeFileAtomically(recordFile(home, record.id), `${JSON.stringify(record, null, 2)}\n`);
}

export async function forgetWorktree(home: string, id: string): Promise<void> {
  await rm(recordFile(home, id), { force: true });
}

/** All that this home has, in the order of their ids. */
export async function listWorktrees(home: string): Promise<readonly WorktreeRecord[]> {
  const names = await readdir(worktreesFolder(home)).catch(() => []);
  const found = names
    .filter((name) => name.endsWith(".json"))
    .toSorted()
    .map((name) => readWorktree(home, name.slice(0, -".json".length)));
  return (await Promise.all(found)).flatMap((record) => record ?? []);
}

/** The repository's own folder of git, where it keeps what all worktrees share. */
export function gitFolderOf({ repository }: Pick<WorktreeRecord, "repository">): string {
  return join(repository, ".git");
}

/**
 * The folder of git that commands in this place need besides it; `null` where the place is no worktree of this home. It
 * comes from the record: the `.git` in a worktree can be written by an agent.
 */
export async function sharedGitFolder(home: string, place: string): Promise<string | null> {
  const folder = await realpath(worktreesFolder(home)).catch(() => null);
  if (folder === null || dirname(place) !== folder) return null;
  const record = await readWorktree(home, place.slice(folder.length + 1));
  if (record === null) return null;
  const git = gitFolderOf(record);
  const isFolder = (await lstat(git).catch(() => null))?.isDirectory() === true;
  return isFolder && (await realpath(git)) === git ? git : null;
}
