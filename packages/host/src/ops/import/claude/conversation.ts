import { z } from "zod";

import type { ExportFiles } from "../reading/export-files.ts";
import type { Report } from "../reading/folder.ts";
import { flag, list, text } from "../reading/json.ts";
import type { ImportedSession, Remark } from "../source.ts";
import { cleanText, plainSession, timeOf } from "../transcript/entries.ts";
import { replay, type TranscriptNode } from "../transcript/replay.ts";
import { type ClaudeMessage, entriesOf, readMessage } from "./message.ts";

const conversation = z.looseObject({
  uuid: z.string().min(1),
  name: text,
  created_at: z.unknown().optional(),
  updated_at: z.unknown().optional(),
  model: text,
  is_starred: flag,
  current_leaf_message_uuid: text,
  chat_messages: z.array(z.unknown()),
  project_uuid: text,
  project: z.looseObject({ uuid: text, name: text }).nullish().catch(null),
});
export type ClaudeConversation = z.infer<typeof conversation>;

/** `null`: it is none. */
export function readConversation(value: unknown): ClaudeConversation | null {
  return conversation.safeParse(value).data ?? null;
}

export interface ConversationPlace {
  readonly files: ExportFiles;
  readonly path: string;
  /** The names of projects, by their ids. */
  readonly projects: ReadonlyMap<string, string>;
}

export async function sessionOf(
  read: ClaudeConversation,
  { files, path, projects }: ConversationPlace,
): Promise<ImportedSession | null> {
  const key = read.uuid;
  const remarks: Remark[] = [];
  const report: Report = (finding) => remarks.push({ ...finding, path, session: key });
  const messages = messagesOf(read, report);
  const hasTree = messages.some(({ parent_message_uuid: parent }) => parent != null);
  const known = new Set(messages.map(({ uuid }) => uuid));
  let last = timeOf(read.created_at) ?? 0;
  let first = last === 0 ? Number.POSITIVE_INFINITY : last;
  let before: string | null = null;
  const nodes: TranscriptNode[] = [];
  for (const message of messages) {
    last = timeOf(message.created_at) ?? last;
    first = Math.min(first, last);
    const place = { files, lastTime: last, where: path, model: read.model ?? null, report };
    const entries = await entriesOf(message, place);
    const isPrompt = entries[0]?.type === "message" && entries[0].role === "user";
    // Without parents, it is a list. A parent that never was is the beginning.
    const given = message.parent_message_uuid ?? null;
    const parent: string | null = hasTree
      ? given !== null && known.has(given)
        ? given
        : null
      : before;
    const isLost = hasTree && parent === null && given !== null && !isRoot(given);
    if (isLost) {
      const sentence = `What the message ${JSON.stringify(message.uuid.slice(0, 80))} answers is missing, so it was placed after the previous one.`;
      report({ code: "lost_parent", outcome: "damaged", path, text: sentence });
    }
    nodes.push({ id: message.uuid, parent: isLost ? before : parent, isPrompt, entries });
    before = message.uuid;
  }
  const { entries, shown } = replay(nodes, read.current_leaf_message_uuid ?? null);
  if (entries.length === 0) return null;
  const project = read.project?.uuid ?? read.project_uuid ?? null;
  const from = Number.isFinite(first) ? first : last;
  return plainSession({
    key,
    title: read.name == null || read.name === "" ? null : cleanText(read.name),
    pinned: read.is_starred,
    project: (project === null ? null : projects.get(project)) ?? read.project?.name ?? null,
    from,
    to: Math.max(from, last, timeOf(read.updated_at) ?? 0),
    entries,
    ...(shown !== undefined && { shown }),
    remarks,
  });
}

/** The beginning of a conversation answers a message of zeros. */
function isRoot(parent: string): boolean {
  return /^0{8}-0{4}-\d?0{3}-\d?0{3}-0{12}$/u.test(parent);
}

/** Each once. In the order of the list, which is that of time. */
function messagesOf({ chat_messages: given }: ClaudeConversation, report: Report): ClaudeMessage[] {
  const messages = new Map<string, ClaudeMessage>();
  for (const [index, value] of list.parse(given).entries()) {
    const read = readMessage(value);
    if (read !== null && !messages.has(read.uuid)) {
      messages.set(read.uuid, read);
      continue;
    }
    report({
      code: read === null ? "unknown_row" : "duplicate_id",
      outcome: "skipped",
      path: "",
      text:
        read === null
          ? `Message ${index + 1} has an unknown format.`
          : `Message ${index + 1} has the same id as another one.`,
      bytes: Buffer.from(JSON.stringify(value ?? null)),
    });
  }
  return [...messages.values()];
}
