import type { RunPlacement } from "@holdfast/engine";
import type { Workspaces } from "../agent/workspace/workspaces.ts";
import { describeSite, type WorkspaceHosts } from "./workspace-hosts.ts";

/** Runs go where the files of their session are, and anywhere if it has none yet. */
export function createRunPlacement(
  workspaces: Pick<Workspaces, "rowOf">,
  hosts: WorkspaceHosts,
): RunPlacement {
  return {
    async check(owner, session) {
      const row = await workspaces.rowOf({ owner, session });
      const site = row === null ? null : await hosts.siteOf(row);
      return site?.at === "elsewhere" && site.host.runs ? "elsewhere" : "here";
    },
    async prepare(owner, session) {
      const row = await workspaces.rowOf({ owner, session });
      const site = row === null ? null : await hosts.siteOf(row);
      if (site === null || site.at === "here" || site.at === "nowhere") return null;
      return { code: "workspace_elsewhere", message: describeSite(site) };
    },
  };
}
