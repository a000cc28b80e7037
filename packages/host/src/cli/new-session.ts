import type { SessionMode } from "@holdfast/protocol";

/** What a session gets that begins with the first thing said. */
export interface NewSessionSettings {
  readonly model?: string | undefined;
  readonly mode?: SessionMode | undefined;
  /** The id of a persona. */
  readonly persona?: string | undefined;
  /** The name of a project. */
  readonly project?: string | undefined;
  /** The folder it works in; by default one that Holdfast keeps for it. */
  readonly workspace?: string | undefined;
  /** In a worktree of the repository there. */
  readonly worktree?: { readonly branch?: string } | undefined;
}

/** The same as the body of a request, which names only what is set. */
export function newSessionBody({
  model,
  mode,
  persona,
  project,
  workspace,
  worktree,
}: NewSessionSettings) {
  return {
    ...(model !== undefined && { model }),
    ...(mode !== undefined && { mode }),
    ...(persona !== undefined && { persona }),
    ...(project !== undefined && { project }),
    ...(workspace !== undefined && { workspace }),
    ...(worktree !== undefined && { worktree }),
  };
}
