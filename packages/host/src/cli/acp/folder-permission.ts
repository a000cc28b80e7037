import { type AgentContext, methods } from "@agentclientprotocol/sdk";
import type { Client } from "@holdfast/client";
import { z } from "zod";
import { acpStrings } from "../strings/acp.ts";
import type { EditorSession } from "./editor-session.ts";
import { invalidRequest, requestErrorFrom } from "./errors.ts";

const allowedOption = "allow-folder";
const chosen = z.object({
  outcome: z.object({ outcome: z.literal("selected"), optionId: z.literal(allowedOption) }),
});

export interface FolderQuestion {
  readonly client: Client;
  readonly editor: AgentContext;
  readonly session: EditorSession;
  readonly folder: string;
}

/** For an editor that answers no approvals: its yes to a folder would be none. */
export function folderNotAllowed(folder: string): Error {
  return invalidRequest(acpStrings.folder.notYet(folder), { folder });
}

/** Asks the person whether the session may work in their folder, and lets it. Throws if they do not say yes. */
export async function askForFolder(question: FolderQuestion): Promise<void> {
  const { client, session, folder } = question;
  const checked = await client.checkFolder({ query: { path: folder } });
  if (!checked.ok) throw requestErrorFrom(checked.error);
  if (checked.value.state !== "allowed") {
    if (!(await isAllowedByPerson(question)))
      throw invalidRequest(acpStrings.folder.notAllowed(folder), { folder });
    const allowed = await client.allowFolder({ body: { path: folder } });
    if (!allowed.ok) throw requestErrorFrom(allowed.error);
  }
  const changed = await client.changeSession({
    params: { id: session.id },
    body: { workspace: folder },
  });
  if (!changed.ok) throw requestErrorFrom(changed.error);
}

async function isAllowedByPerson({ editor, session, folder }: FolderQuestion): Promise<boolean> {
  const title = acpStrings.folder.ask(folder);
  const toolCallId = `folder-${session.id}`;
  session.send({ sessionUpdate: "tool_call", toolCallId, title, kind: "other", status: "pending" });
  const answer = await editor.request(methods.client.session.requestPermission, {
    sessionId: session.id,
    toolCall: {
      toolCallId,
      title,
      kind: "other",
      status: "pending",
      rawInput: { folder },
    },
    options: [
      { optionId: allowedOption, name: acpStrings.folder.allow, kind: "allow_always" },
      { optionId: "no", name: acpStrings.folder.deny, kind: "reject_once" },
    ],
  });
  const isAllowed = chosen.safeParse(answer).success;
  session.send({
    sessionUpdate: "tool_call_update",
    toolCallId,
    status: isAllowed ? "completed" : "failed",
  });
  return isAllowed;
}
