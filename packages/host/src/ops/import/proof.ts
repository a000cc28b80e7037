import { createHash } from "node:crypto";
import type { Reads } from "@holdfast/engine";
import {
  blobId,
  type OwnerId,
  type Seq,
  type SeqRange,
  type SessionId,
  type StoredEvent,
  type EventId,
} from "@holdfast/protocol";
import { z } from "zod";

/** What the store has of one imported entry. */
export interface StoredText {
  readonly seq: Seq;
  readonly id: EventId;
  readonly role: string;
  readonly sha256: string;
}

export interface StoredLog {
  /** By the ids of their events. */
  readonly seqs: ReadonlyMap<EventId, Seq>;
  readonly texts: ReadonlyMap<Seq, StoredText>;
  /** The newest entry that an import wrote. */
  readonly lastImported: Seq;
  /** Whether people or agents went on here. */
  readonly isChangedHere: boolean;
  /** What earlier imports recorded of each total. */
  readonly used: ReadonlyMap<string, UsedSoFar>;
  /** It is not complete: an import was stopped. */
  readonly isUnfinished: boolean;
}

export interface UsedSoFar {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly costMicros: number;
}

const pageSize = 500;
const amount = z.number().catch(0);
const usage = z.object({
  importKey: z.string(),
  input: amount,
  output: amount,
  cacheRead: amount,
  cacheWrite: amount,
  costMicros: amount,
});
const created = z.object({ imported: z.object({ unfinished: z.boolean() }) });

/** Reads a session's own log, for what is there and what its texts are. */
export async function readStoredLog(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  from: Seq,
): Promise<StoredLog> {
  const seqs = new Map<EventId, Seq>();
  const texts = new Map<Seq, StoredText>();
  const used = new Map<string, UsedSoFar>();
  let lastImported = 0 as Seq;
  let isChangedHere = false;
  let isUnfinished = false;
  for (let after = from; ;) {
    const page = await reads.events(owner, session, { after, limit: pageSize });
    for (const event of page?.events ?? []) {
      seqs.set(event.id, event.seq);
      const text = await storedText(reads, owner, event);
      if (text !== null) texts.set(event.seq, text);
      if (event.quiet !== true && isSaid(event)) isChangedHere = true;
      if (event.quiet === true && isEntry(event)) lastImported = event.seq;
      if (event.type === "session.created")
        isUnfinished = created.safeParse(event.data).data?.imported.unfinished ?? false;
      if (event.type !== "usage.recorded") continue;
      const { importKey, ...amounts } = usage.safeParse(event.data).data ?? { importKey: null };
      if (importKey !== null) used.set(importKey, addUsage(used.get(importKey), amounts));
    }
    const last = page?.events.at(-1);
    if (last === undefined || page?.more !== true) break;
    after = last.seq;
  }
  return { seqs, texts, lastImported, isChangedHere, used, isUnfinished };
}

function addUsage(known: UsedSoFar | undefined, more: Partial<UsedSoFar>): UsedSoFar {
  const sum = (name: keyof UsedSoFar): number => (known?.[name] ?? 0) + (more[name] ?? 0);
  return {
    input: sum("input"),
    output: sum("output"),
    cacheRead: sum("cacheRead"),
    cacheWrite: sum("cacheWrite"),
    costMicros: sum("costMicros"),
  };
}

const entryTypes: ReadonlySet<string> = new Set([
  "message.user",
  "message.assistant",
  "message.tool",
  "notice.added",
  "history.cut",
  "context.compacted",
]);

function isEntry({ type }: StoredEvent): boolean {
  return entryTypes.has(type);
}

function isSaid(event: StoredEvent): boolean {
  return isEntry(event) || event.type === "input.accepted" || event.type === "history.restored";
}

const parts = z.array(
  z.looseObject({
    type: z.string(),
    text: z.string().optional(),
    output: z.string().optional(),
    whole: blobId.optional(),
    blobId: blobId.optional(),
  }),
);
const message = z.object({ parts, added: z.boolean().optional() });
const notice = z.object({
  kind: z.string(),
  text: z.string(),
  details: z.object({ whole: blobId.optional() }).optional(),
});

/** The text as the store has it, and by whom. `null`: an import added it, or it is no text. */
async function storedText(
  reads: Reads,
  owner: OwnerId,
  { type, data, seq, id }: StoredEvent,
): Promise<StoredText | null> {
  const roles: Readonly<Record<string, string>> = {
    "message.user": "user",
    "message.assistant": "assistant",
    "message.tool": "tool",
  };
  const role = roles[type];
  if (role !== undefined) {
    const read = message.safeParse(data).data;
    if (read === undefined || read.added === true) return null;
    const texts: string[] = [];
    for (const part of read.parts) {
      if (part.type === "text")
        texts.push(await wholeOf(reads, owner, part.whole, part.text ?? ""));
      if (part.type === "tool_result")
        texts.push(await wholeOf(reads, owner, part.blobId, part.output ?? ""));
    }
    return { seq, id, role, sha256: hash(texts.join("\n")) };
  }
  if (type !== "notice.added") return null;
  const read = notice.safeParse(data).data;
  if (read === undefined) return null;
  const text = await wholeOf(reads, owner, read.details?.whole, read.text);
  const isSystem = read.kind === "system_message";
  return { seq, id, role: isSystem ? "system" : "card", sha256: hash(text) };
}

async function wholeOf(
  reads: Reads,
  owner: OwnerId,
  whole: z.infer<typeof blobId> | undefined,
  text: string,
): Promise<string> {
  if (whole === undefined) return text;
  const blob = await reads.blob(owner, whole);
  return blob === null ? "" : new TextDecoder().decode(blob.bytes);
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function isVisible(ranges: readonly SeqRange[], seq: Seq): boolean {
  return ranges.some(
    ({ from, to, log }) => log === undefined && seq >= from && (to === null || seq <= to),
  );
}
