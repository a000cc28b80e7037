import { createHash } from "node:crypto";
import { basename, isAbsolute, join, normalize } from "node:path";
import type { SessionInfo } from "@agentclientprotocol/sdk";
import type { SessionView } from "@holdfast/protocol";
import type { ServerConnection } from "../connection/connect.ts";
import { checkLocalFolder } from "../connection/local-folder.ts";
import { acpStrings } from "../strings/acp.ts";
import { invalidRequest, requestErrorFrom } from "./errors.ts";

export function folderFrom(cwd: string): string {
  if (!isAbsolute(cwd)) throw invalidRequest(acpStrings.folder.notAbsolute(JSON.stringify(cwd)));
  const folder = normalize(cwd);
  return folder === "/" ? folder : folder.replace(/\/+$/, "");
}

/** The path that a session names, if it names one. */
export function pathOf({ workspace }: Pick<SessionView, "workspace">): string | undefined {
  return workspace !== null && isAbsolute(workspace) ? workspace : undefined;
}

/**
 * Where a session works whose host does not take the editor's folder as it is. `ask`: the owner at this machine can
 * still say yes. On another machine, or with an API key, all sessions of this folder share one that the host keeps.
 */
export async function chooseOther(
  connection: ServerConnection,
  folder: string,
): Promise<"ask" | { readonly name: string }> {
  const checked = await checkLocalFolder(connection, folder);
  switch (checked.state) {
    case "elsewhere":
      return { name: sharedName(folder) };
    case "failed":
      throw requestErrorFrom(checked.error);
    case "refused":
      throw invalidRequest(checked.reason, { folder });
    case "askable":
      return "ask";
    case "allowed":
      throw invalidRequest(acpStrings.folder.refused(folder), { folder });
  }
}

const sharedCursor = "shared:";

/** One page of a folder's sessions: which workspace to list, from where, and where the next page begins. */
export interface FolderPage {
  readonly query: { readonly workspace: string; readonly cursor?: string };
  next(hostCursor: string | null): string | null;
}

/** Sessions that name the folder itself come first, then those that work in the folder kept for it on the host. */
export function folderPage(folder: string, cursor: string | null, hasShared: boolean): FolderPage {
  if (cursor?.startsWith(sharedCursor) !== true)
    return {
      query: { workspace: folder, ...(cursor !== null && { cursor }) },
      next: (hostCursor) => hostCursor ?? (hasShared ? sharedCursor : null),
    };
  const rest = cursor.slice(sharedCursor.length);
  return {
    query: { workspace: sharedName(folder), ...(rest !== "" && { cursor: rest }) },
    next: (hostCursor) => (hostCursor === null ? null : sharedCursor + hostCursor),
  };
}

const maxNameLength = 60;

/** The host's name for a folder of another machine: a plain one, which tells two folders of one name apart. */
function sharedName(folder: string): string {
  const plain = basename(folder)
    .replaceAll(/[^A-Za-z0-9_]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  const digest = createHash("sha256").update(folder).digest("hex").slice(0, 8);
  return `${plain.slice(0, maxNameLength) || "folder"}-${digest}`;
}

/** A session as an editor lists it. Each has a folder there, so the host's own stands in where none was named. */
export function infoOf(
  view: SessionView,
  { config, isLocal }: ServerConnection,
  listedFor: string | undefined,
): SessionInfo {
  const ownFolder = isLocal ? join(config.home.value, "workspaces", view.id) : "/";
  return {
    sessionId: view.id,
    cwd: pathOf(view) ?? listedFor ?? ownFolder,
    title: view.title ?? (view.preview === "" ? null : view.preview),
    updatedAt: new Date(view.activityAt).toISOString(),
  };
}
