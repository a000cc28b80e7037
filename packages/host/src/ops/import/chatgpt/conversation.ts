import { z } from "zod";

import type { Report } from "../reading/folder.ts";
import { flag, record, text } from "../reading/json.ts";
import type { ImportedSession, Remark } from "../source.ts";
import { cleanText, plainSession, timeOf, unansweredCalls } from "../transcript/entries.ts";
import { replay, type TranscriptNode } from "../transcript/replay.ts";
import type { Assets } from "./assets.ts";
import { calledTool, type ChatMessage, entriesOf, readMessage } from "./message.ts";

const conversation = z.looseObject({
  id: text,
  conversation_id: text,
  title: text,
  create_time: z.unknown().optional(),
  update_time: z.unknown().optional(),
  mapping: z.record(z.string(), z.unknown()),
  current_node: text,
  is_archived: flag,
  is_starred: flag,
  pinned_time: z.unknown().optional(),
  gizmo_id: text,
  conversation_template_id: text,
});
export type ChatConversation = z.infer<typeof conversation>;

/** `null`: it is none. */
export function readConversation(value: unknown): ChatConversation | null {
  const read = conversation.safeParse(value).data;
  return read !== undefined && keyOf(read) !== null ? read : null;
}

function keyOf({ conversation_id: id, id: other }: ChatConversation): string | null {
  const key = id ?? other ?? "";
  return key === "" ? null : key;
}

/** Projects have ids of this kind; a conversation names its project, and nothing names the project's name. */
export function projectIdOf(read: ChatConversation): string | null {
  const ids = [read.gizmo_id, read.conversation_template_id];
  return ids.find((id) => id?.startsWith("g-p-") === true) ?? null;
}

export function projectNameOf(id: string): string {
  return `ChatGPT project ${id.slice("g-p-".length, "g-p-".length + 8)}`;
}

const node = z.looseObject({ parent: text, message: z.unknown() });

interface Node {
  readonly id: string;
  readonly parent: string | null;
  readonly message: ChatMessage | null;
}

export interface ConversationPlace {
  readonly assets: Assets;
  /** The file that it is in. */
  readonly path: string;
}

export async function sessionOf(
  read: ChatConversation,
  { assets, path }: ConversationPlace,
): Promise<ImportedSession | null> {
  const key = keyOf(read) ?? "";
  const remarks: Remark[] = [];
  const report: Report = (finding) => remarks.push({ ...finding, path, session: key });
  const nodes = nodesOf(read, report);
  const created = timeOf(read.create_time) ?? 0;
  const said: TranscriptNode[] = [];
  const byId = new Map(nodes.map((each) => [each.id, each]));
  const answered = new Set<string>();
  let last = created;
  let first = Number.POSITIVE_INFINITY;
  for (const each of inTime(nodes)) {
    const { message } = each;
    if (message === null) {
      said.push({ ...each, isPrompt: false, entries: [] });
      continue;
    }
    last = timeOf(message.create_time) ?? last;
    const call = message.author.role === "tool" ? callAbove(each, byId, answered) : null;
    if (call !== null) answered.add(call.id);
    const place = { assets, lastTime: last, call, node: each.id, where: path, report };
    const entries = await entriesOf(message, place);
    if (entries.length > 0) first = Math.min(first, last);
    const isPrompt = entries[0]?.type === "message" && entries[0].role === "user";
    said.push({ ...each, isPrompt, entries });
  }
  const finished = withAnswers(said, byId, answered, last);
  const { entries, shown } = replay(finished, read.current_node ?? null);
  if (entries.length === 0) return null;
  const project = projectIdOf(read);
  const gizmo = project === null ? read.gizmo_id : null;
  const started = created === 0 ? (Number.isFinite(first) ? first : last) : created;
  return plainSession({
    key,
    title: read.title == null || read.title === "" ? null : cleanText(read.title),
    pinned: read.is_starred || timeOf(read.pinned_time) !== null,
    archived: read.is_archived,
    project: project === null ? null : projectNameOf(project),
    tags: gizmo == null || gizmo === "" ? [] : [cleanText(`gpt:${gizmo}`)],
    from: Math.min(started, Number.isFinite(first) ? first : started),
    to: Math.max(timeOf(read.update_time) ?? 0, last, started),
    entries,
    ...(shown !== undefined && { shown }),
    remarks,
  });
}

function nodesOf({ mapping }: ChatConversation, report: Report): Node[] {
  return Object.entries(mapping).map(([id, value]) => {
    const read = node.safeParse(value).data;
    const parent = read?.parent ?? null;
    const message = read?.message == null ? null : readMessage(read.message);
    const isUnknown = read === undefined || (read.message != null && message === null);
    if (isUnknown)
      report({
        code: "unknown_row",
        outcome: "skipped",
        path: "",
        text: `The message ${JSON.stringify(id.slice(0, 80))} has an unknown format.`,
        bytes: Buffer.from(JSON.stringify(value)),
      });
    if (parent !== null && !Object.hasOwn(mapping, parent))
      report({
        code: "lost_parent",
        outcome: "damaged",
        path: "",
        text: `What the message ${JSON.stringify(id.slice(0, 80))} answers is missing, so it was placed after the previous one.`,
      });
    return { id, parent, message };
  });
}

/** As they were written; those without a time stay where they are. */
function inTime(nodes: readonly Node[]): readonly Node[] {
  let last = 0;
  const timed = nodes.map((each) => {
    last = timeOf(each.message?.create_time) ?? last;
    return { each, at: last };
  });
  return timed.toSorted((a, b) => a.at - b.at).map(({ each }) => each);
}

/** The call whose first output this is. */
function callAbove(
  { parent }: Node,
  byId: ReadonlyMap<string, Node>,
  answered: ReadonlySet<string>,
): { readonly id: string; readonly name: string } | null {
  const above = parent === null ? undefined : byId.get(parent);
  const name = above?.message == null ? null : calledTool(above.message);
  if (above === undefined || name === null || answered.has(above.id)) return null;
  return { id: above.id, name };
}

function withAnswers(
  nodes: readonly TranscriptNode[],
  byId: ReadonlyMap<string, Node>,
  answered: ReadonlySet<string>,
  at: number,
): readonly TranscriptNode[] {
  return nodes.map((each) => {
    const message = byId.get(each.id)?.message;
    const name = message == null ? null : calledTool(message);
    const isCall = each.entries.some(
      (entry) => entry.type === "message" && entry.parts.some(({ type }) => type === "tool_call"),
    );
    if (name === null || !isCall || answered.has(each.id)) return each;
    const added = unansweredCalls(new Map([[each.id, name]]), { at, program: "ChatGPT" });
    return { ...each, entries: [...each.entries, added] };
  });
}

/** What was known about the person: one line each, of the newest conversation that has them. */
export function memoriesIn({ mapping }: ChatConversation): readonly string[] {
  const found: string[] = [];
  for (const value of Object.values(mapping)) {
    const { content } = record.parse(record.parse(value)["message"]);
    const known = record.parse(content)["model_set_context"];
    if (typeof known !== "string") continue;
    for (const line of known.split("\n")) {
      const fact = line.replace(/^\s*\d+\.\s*(?:\[[^\]]*\]\.?\s*)?/u, "").trim();
      if (fact !== "") found.push(cleanText(fact));
    }
  }
  return [...new Set(found)];
}
