import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { sessionId } from "@holdfast/protocol";
import { readTextOrEmpty, writeFileAtomically } from "../util/atomic-file.ts";
import type { WorkspaceHosts } from "./workspace-hosts.ts";

/**
 * Claims the sessions' folders that an earlier version has put into this home, once. After a crash the next start does
 * it again; a workspace that has a row keeps it.
 */
export async function registerFolders(
  home: string,
  hosts: Pick<WorkspaceHosts, "claim">,
  signal: AbortSignal,
): Promise<void> {
  const mark = join(home, "workspaces", "registered");
  if ((await readTextOrEmpty(mark)) !== "") return;
  for (const name of await readdir(join(home, "workspaces")).catch(() => [])) {
    if (signal.aborted) return;
    if (!sessionId.safeParse(name).success) continue;
    const files = await readdir(join(home, "workspaces", name)).catch(() => []);
    if (files.length > 0) await hosts.claim(`session:${name}`);
  }
  await writeFileAtomically(mark, "1\n");
}
