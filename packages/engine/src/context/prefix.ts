import { decodeEvent, type RequestRecord, type Seq, type StoredEvent } from "@holdfast/protocol";

import type { Block } from "./build-context.ts";
import type { ContextEntries } from "./read-context.ts";

/** The newest request of a session: the hash of each of its blocks, and which entry it was made for. */
export interface SentRequest {
  /** `null`: not all of them are known here. */
  readonly hashes: readonly string[] | null;
  /** What came behind it can explain a change. */
  readonly seq: Seq;
  /** Who it was made for; another one has kept nothing of it. `null`: not known. */
  readonly model: string | null;
  /** `log`: read from what is in view. A request whose answer was cut away may have been made since. */
  readonly knownFrom: "log" | "sending";
}

/** The newest request that the entries tell of. A record that goes on from one that is not here tells only half. */
export function lastSentRequest({ head, epoch, tail }: ContextEntries): SentRequest | null {
  const entries = epoch === null ? tail : [...head, ...tail];
  return entries.reduce<SentRequest | null>((sent, entry) => {
    const record = recordIn(entry);
    if (record === undefined) return sent;
    const hashes = appendHashes(sent?.hashes ?? null, record);
    return { seq: entry.seq, hashes, model: modelIn(entry), knownFrom: "log" };
  }, null);
}

function appendHashes(
  before: readonly string[] | null,
  { from, hashes }: RequestRecord,
): readonly string[] | null {
  if (from === 0) return hashes;
  return before === null || before.length < from ? null : [...before.slice(0, from), ...hashes];
}

/**
 * P9: what is recorded of a request: the hashes that those who read the log do not know yet, or all of them when it does
 * not go on from what they know. When it does not go on from the request before, then also the first block that
 * differs and the event that explains it.
 */
export function recordRequest(
  sent: SentRequest | null,
  recorded: readonly string[] | null,
  entries: ContextEntries,
  { blocks, model }: { readonly blocks: readonly Block[]; readonly model: string },
): RequestRecord {
  const hashes = blocks.map(({ hash }) => hash);
  const from = recorded !== null && isPrefix(recorded, hashes) ? recorded.length : 0;
  const record = { from, hashes: hashes.slice(from) };
  if (sent === null) return record;
  if (sent.model !== null && sent.model !== model) {
    const explainedBy = explanation(sent.seq, entries);
    return { ...record, differs: { block: 0, ...(explainedBy && { explainedBy }) } };
  }
  if (sent.hashes !== null && isPrefix(sent.hashes, hashes)) {
    const cut = sent.knownFrom === "log" ? cutBehind(sent.seq, entries) : undefined;
    const block = blocks.findIndex(({ seq }) => seq !== null && cut !== undefined && seq > cut.seq);
    return block === -1 ? record : { ...record, differs: { block, explainedBy: cut } };
  }
  const block =
    sent.hashes === null
      ? summaryBlock(entries, blocks)
      : sent.hashes.findIndex((hash, index) => hashes[index] !== hash);
  const explainedBy = explanation(sent.seq, entries);
  return { ...record, differs: { block, ...(explainedBy && { explainedBy }) } };
}

function isPrefix(some: readonly string[], all: readonly string[]): boolean {
  return some.every((hash, index) => all[index] === hash);
}

/** With nothing known from below an epoch, its summary is the first block that cannot be what it was. */
function summaryBlock({ epoch }: ContextEntries, blocks: readonly Block[]): number {
  return Math.max(
    0,
    blocks.findIndex(({ seq }) => seq !== null && seq === epoch?.seq),
  );
}

const explainingTypes: ReadonlySet<string> = new Set([
  "context.framed",
  "context.compacted",
  "context.epoch",
  "history.restored",
  "notice.changed",
]);

function explanation(
  after: Seq,
  { tail, ranges }: ContextEntries,
): { seq: Seq; type: string } | undefined {
  const event = tail.findLast(({ seq, type }) => seq > after && explainingTypes.has(type));
  if (event !== undefined) return { seq: event.seq, type: event.type };
  return cutBehind(after, { ranges });
}

/** A cut stands just below the range that it opened, and is not part of what is visible. */
function cutBehind(
  after: Seq,
  { ranges }: Pick<ContextEntries, "ranges">,
): { seq: Seq; type: string } | undefined {
  const cut = ((ranges.at(-1)?.from ?? 0) - 1) as Seq;
  return cut > after ? { seq: cut, type: "history.cut" } : undefined;
}

function modelIn(entry: StoredEvent): string | null {
  const { model } = entry.data;
  return typeof model === "string" ? model : null;
}

function recordIn(entry: StoredEvent): RequestRecord | undefined {
  if (entry.type !== "message.assistant") return undefined;
  const decoded = decodeEvent(entry);
  return decoded.kind === "known" && decoded.event.type === "message.assistant"
    ? decoded.event.data.request
    : undefined;
}
