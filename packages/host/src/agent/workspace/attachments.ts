import { readableBlob, type Reads, type Recall } from "@holdfast/engine";
import type { Attachment, OwnerId } from "@holdfast/protocol";

import { Jail } from "./jail.ts";
import { safeFileName } from "../../util/safe-file-name.ts";
import type { Workspaces } from "./workspaces.ts";

const attachmentsFolder = "attachments";
const maxNameTries = 100;

/**
 * Saves a message's attachments to the session's workspace, where tools can use them, and names their paths. The runner
 * does this, since the workspace is on its machine. A repeat finds the same files.
 */
export function saveAttachments(
  workspaces: Pick<Workspaces, "folderFor">,
  reads: Pick<Reads, "blob">,
): Recall {
  return async ({ owner, session, attachments = [] }) => {
    if (attachments.length === 0) return [];
    const lines: string[] = [];
    try {
      const jail = await Jail.open(await workspaces.folderFor({ owner, session }));
      if (!jail.ok) throw new Error(jail.refusal.message);
      for (const attachment of attachments)
        lines.push(await saveAttachment(jail.value, reads, owner, attachment));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      lines.push(`The workspace could not take what is attached: ${why}`);
    }
    const text = `What is attached lies in the workspace:\n${lines.join("\n")}`;
    return [{ type: "attached", source: "workspace", text }];
  };
}

async function saveAttachment(
  jail: Jail,
  reads: Pick<Reads, "blob">,
  owner: OwnerId,
  { blobId, name = "image", mediaType }: Attachment,
): Promise<string> {
  const blob = await readableBlob(reads, owner, blobId);
  if (blob === null) return `- ${safeFileName(name)}: it is not there any more.`;
  const path = await freePath(jail, safeFileName(name), blob.bytes);
  if (path === null) return `- ${safeFileName(name)}: there are too many of this name.`;
  const written = await jail.write(path, blob.bytes);
  const says = written.ok ? `${mediaType}, ${blob.bytes.length} bytes` : written.refusal.message;
  return `- ${path} (${says})`;
}

/** The name itself, or a variant if another file has it; a file with the same bytes is reused. */
async function freePath(jail: Jail, name: string, bytes: Uint8Array): Promise<string | null> {
  const [, stem = "", ending = ""] = /^(.*?)(\.[^.]*)?$/.exec(name) ?? [];
  for (let count = 1; count <= maxNameTries; count += 1) {
    const path = `${attachmentsFolder}/${count === 1 ? name : `${stem}-${count}${ending}`}`;
    const there = await jail.read(path, async ({ handle, size }) =>
      size === bytes.length ? handle.readFile() : null,
    );
    if (!there.ok && there.refusal.code === "not_found") return path;
    if (there.ok && there.value !== null && there.value.equals(bytes)) return path;
  }
  return null;
}
