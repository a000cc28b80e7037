import type { RouteName } from "@holdfast/protocol";

/**
 * Only these go to another host, and are taken from one. By what tells where the files are: the session; the session if
 * files are to be restored; the session if its host can be reached; a process; a worktree.
 */
export const forwardedRoutes = {
  listFiles: "session",
  readFile: "session",
  writeFile: "session",
  readWorkspace: "session",
  trustWorkspace: "session",
  readFileChanges: "session",
  undoFiles: "session",
  redoFiles: "session",
  undo: "restore",
  redo: "restore",
  switchAlternative: "restore",
  purgeSession: "reachable",
  listSessionSkills: "session",
  trustSkill: "session",
  listSessionAgents: "session",
  trustAgent: "session",
  readProcessOutput: "process",
  readWorktree: "worktree",
  removeWorktree: "worktree",
} as const satisfies Partial<Record<RouteName, string>>;

export type ForwardedRoute = keyof typeof forwardedRoutes;
export type ForwardKind = (typeof forwardedRoutes)[ForwardedRoute];

export function isForwarded(name: string): name is ForwardedRoute {
  return Object.hasOwn(forwardedRoutes, name);
}

/** Below the base path, which each host has for itself, and without the key of a link. */
export function forwardedPath(url: string, basePath: string): string {
  const { pathname, searchParams } = new URL(url);
  searchParams.delete("key");
  const query = searchParams.toString();
  return `${pathname.slice(basePath.length)}${query === "" ? "" : `?${query}`}`;
}
