import type { ApiDeps } from "../../server/api/deps.ts";
import { answer, type Call, mountCall, problem } from "../../server/api/endpoint.ts";
import type { Route } from "../../server/http/routing.ts";
import { type WorktreeRecord, worktreeWorkspace } from "./worktree-record.ts";
import type { WorktreeWork } from "./worktrees.ts";

export function worktreeRoutes(deps: ApiDeps): Route[] {
  const { reads } = deps.log.store;
  const { worktrees } = deps.toolset;

  async function view(record: WorktreeRecord) {
    const { id, repository, branch, base, state } = record;
    const work = state === "ready" ? await worktrees.work(record) : null;
    return {
      id,
      workspace: worktreeWorkspace(id),
      folder: worktrees.folderOf(id),
      repository,
      branch,
      base,
      state: state === "ready" ? ("ready" as const) : ("unfinished" as const),
      isUsed: await worktrees.isUsed(record),
      work: work === null ? null : { ...work },
    };
  }

  async function hasLiveRun({ owner, id }: WorktreeRecord): Promise<boolean> {
    const workspace = worktreeWorkspace(id);
    for (const shelf of ["active", "archived"] as const) {
      const { sessions } = await reads.sessions(owner, { shelf, workspace, limit: 100 });
      if (sessions.some(({ liveRun }) => liveRun !== null)) return true;
    }
    return false;
  }

  async function remove({ owner, params, body }: Call<"removeWorktree">) {
    const record = await worktrees.read(owner, params.id);
    if (record === null) return problem("worktree_not_found");
    if (await hasLiveRun(record)) return problem("run_live");
    const removed = await worktrees.remove(record, body);
    switch (removed.status) {
      case "removed":
        return answer(undefined);
      case "not_found":
        return problem("worktree_not_found");
      case "has_work":
        return problem("worktree_has_work", { detail: describeWork(record, removed.work) });
      case "busy":
        return problem("worktree_unavailable", { detail: "Another process works on it." });
      case "failed":
        return problem("worktree_unavailable", { detail: removed.reason });
    }
  }

  return [
    mountCall(deps, "listWorktrees", async ({ owner }) =>
      answer({ worktrees: await Promise.all((await worktrees.list(owner)).map(view)) }),
    ),
    mountCall(deps, "readWorktree", async ({ owner, params }) => {
      const record = await worktrees.read(owner, params.id);
      return record === null
        ? problem("worktree_not_found")
        : answer({ worktree: await view(record) });
    }),
    mountCall(deps, "removeWorktree", remove),
  ];
}

export function describeWork(
  { branch }: Pick<WorktreeRecord, "branch">,
  work: WorktreeWork | null,
): string {
  if (work === null) return `git cannot say what is in the worktree of ${branch}.`;
  const { changes, commits } = work;
  return `${branch} has ${changes} files that are not committed, and ${commits} commits that are in no other branch.`;
}
