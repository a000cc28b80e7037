import { z } from "zod";

import { defineRoute } from "../define.ts";
import { idempotencyHeader } from "../sessions.ts";

const worktreeParams = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{16}$/u, "expected the id of a worktree"),
});

export const worktreeView = z.looseObject({
  id: z.string(),
  /** What sessions that work there name as their workspace. */
  workspace: z.string(),
  folder: z.string(),
  repository: z.string(),
  branch: z.string(),
  /** The commit that it began with. */
  base: z.string(),
  /** `unfinished`: a host was killed while it made or removed it, and the next start finishes that. */
  state: z.enum(["ready", "unfinished"]),
  /** Whether a session works there, in the trash or not. */
  isUsed: z.boolean(),
  /** What would be lost with it; `null` if git cannot say. */
  work: z
    .looseObject({
      /** Files that are changed or new, and not committed. */
      changes: z.int().nonnegative(),
      /** Commits that no other branch has, nor a remote branch or tag. */
      commits: z.int().nonnegative(),
      /** Those that its own branch does not have either. */
      looseCommits: z.int().nonnegative(),
      /** Names exactly this work, for whoever agrees to lose it. */
      hash: z.string(),
    })
    .nullable(),
});
export type WorktreeView = z.infer<typeof worktreeView>;

export const worktreeRoutes = {
  listWorktrees: defineRoute({
    method: "GET",
    path: "/api/worktrees",
    summary: "The worktrees of this host, with the work that removing each would lose",
    access: "principal",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ worktrees: z.array(worktreeView) }),
    },
    problems: [],
    repeat: "safe",
  }),
  readWorktree: defineRoute({
    method: "GET",
    path: "/api/worktrees/:id",
    summary: "A worktree, with the work that removing it would lose",
    access: "principal",
    params: worktreeParams,
    answer: { media: "json", status: 200, schema: z.looseObject({ worktree: worktreeView }) },
    problems: ["worktree_not_found"],
    repeat: "safe",
  }),
  removeWorktree: defineRoute({
    method: "POST",
    path: "/api/worktrees/:id/remove",
    summary:
      "Remove a worktree, and optionally its branch; work is lost only if `lose` confirms it",
    access: "principal",
    params: worktreeParams,
    body: z.strictObject({
      branch: z.enum(["keep", "delete"]),
      /** The hash of the work that may be lost. */
      lose: z.string().max(100).optional(),
    }),
    example: { branch: "keep" },
    answer: { media: "none", status: 204 },
    problems: ["worktree_not_found", "worktree_has_work", "worktree_unavailable", "run_live"],
    headers: idempotencyHeader,
    repeat: "key",
  }),
} as const;
