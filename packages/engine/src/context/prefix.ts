import {
  type ContextFrame,
  type EventData,
  type OwnerId,
  type ToolSpec,
  toolSpec,
  decodeEvent,
  type RequestRecord,
  type Seq,
  type StoredEvent,
} from "@holdfast/protocol";
import type { Failed } from "../ports/commit.ts";
import { readableBlob, type Store } from "../ports/store.ts";
import type { FrameBytes, Block } from "./build-context.ts";
import type { ContextEntries } from "./session-context.ts";

/**
 * The version of the renderer. When its output changes, add a new number next to the old one instead of replacing it.
 */
const rendering = 2;

/** How a context would start today. */
export interface FrameSource {
  /** Signature of the inputs of both, except for what is frozen at the session's start (its notes). */
  readonly signature: string;
  readonly tools: readonly ToolSpec[];
  system(): Promise<string>;
}

export type Framed =
  | {
      readonly status: "framed";
      readonly frame: ContextFrame;
      readonly bytes: FrameBytes;
      /** Must be committed before the frame is used: the session had another frame until now, or none. */
      readonly event?: EventData<"context.framed">;
    }
  | Failed;

/**
 * P9: a session keeps the system prompt and the tools it started with, byte for byte, while their inputs stay the same.
 * They are stored by content: a thousand sessions that start alike store them once.
 */
export async function frameContext(
  store: Pick<Store, "reads" | "putBlob">,
  owner: OwnerId,
  known: ContextFrame | null,
  source: FrameSource,
): Promise<Framed> {
  const isCurrent = known?.signature === source.signature && known.rendering === rendering;
  const reused = known !== null && isCurrent ? await readFrame(store, owner, known) : null;
  if (known !== null && reused !== null) return { status: "framed", frame: known, bytes: reused };
  const bytes = { system: await source.system(), tools: source.tools };
  const system = await store.putBlob(owner, encode(bytes.system), "text/plain");
  if (system.status === "failed") return system;
  const tools = await store.putBlob(owner, encode(JSON.stringify(bytes.tools)), "application/json");
  if (tools.status === "failed") return tools;
  const { signature } = source;
  const frame = { system: system.id, tools: tools.id, signature, rendering };
  return { status: "framed", frame, bytes, event: { frame, cause: causeOf(known, signature) } };
}

const longestCause = 100;

/** P9: a change says which parts changed, came or went, if the signatures name them. */
function causeOf(known: ContextFrame | null, signature: string): string {
  if (known === null) return "first";
  if (known.rendering !== rendering) return "rendering";
  if (known.signature === signature) return "lost";
  const knownParts = new Set(known.signature.split(" "));
  const names = signature.split(" ").map((part) => (knownParts.has(part) ? "" : partName(part)));
  const kept = new Set(signature.split(" ").map(partName));
  const gone = known.signature
    .split(" ")
    .map(partName)
    .filter((name) => !kept.has(name));
  const changed = [...names.filter((name) => name !== ""), ...gone];
  const isNamed = changed.length > 0 && !changed.includes(unnamedPart);
  return isNamed ? changed.join(" ").slice(0, longestCause) : "configuration";
}

const unnamedPart = "?";

function partName(part: string): string {
  return /^(?<name>[a-z]+)=/u.exec(part)?.groups?.["name"] ?? unnamedPart;
}

/** The stored frame. `null`: its bytes are missing or corrupt. */
export async function readFrame(
  { reads }: Pick<Store, "reads">,
  owner: OwnerId,
  { system, tools }: ContextFrame,
): Promise<FrameBytes | null> {
  const [text, specs] = await Promise.all([
    readableBlob(reads, owner, system),
    readableBlob(reads, owner, tools),
  ]);
  if (text === null || specs === null) return null;
  const stored = toolsIn(decode(specs.bytes));
  return stored && { system: decode(text.bytes), tools: stored };
}

function toolsIn(text: string): readonly ToolSpec[] | null {
  try {
    const decoded = toolSpec.array().safeParse(JSON.parse(text));
    return decoded.success ? decoded.data : null;
  } catch {
    return null;
  }
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** The newest request of a session: the hash of each block, and the entry it was made for. */
export interface SentRequest {
  /** `null`: not all of them are known here. */
  readonly hashes: readonly string[] | null;
  /** Later events can explain a change. */
  readonly seq: Seq;
  /** The model it was sent to; another model has none of it cached. `null`: unknown. */
  readonly model: string | null;
  /** `log`: read from visible entries. A later request may be missing if its answer was cut. */
  readonly knownFrom: "log" | "sending";
}

/** The newest request recorded in the entries. A record that extends a missing one is incomplete. */
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
  previous: readonly string[] | null,
  { from, hashes }: RequestRecord,
): readonly string[] | null {
  if (from === 0) return hashes;
  return previous === null || previous.length < from
    ? null
    : [...previous.slice(0, from), ...hashes];
}

/**
 * P9: the record of a request: the hashes that readers of the log do not know yet, or all of them if it does not extend
 * what they know. If it does not extend the previous request, also the first block that differs and the event that
 * explains it.
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
    const explainedBy = explanation(sent.seq, entries, 0);
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
  const explainedBy = explanation(sent.seq, entries, block);
  return { ...record, differs: { block, ...(explainedBy && { explainedBy }) } };
}

function isPrefix(some: readonly string[], all: readonly string[]): boolean {
  return some.every((hash, index) => all[index] === hash);
}

/** If nothing below an epoch is known, its summary is the first block that must differ. */
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

/** Blocks of the frame: the system prompt and the tools. */
const frameBlocks = 2;

/** The newest event that can have changed this block. */
function explanation(
  after: Seq,
  { tail, ranges }: ContextEntries,
  block: number,
): { seq: Seq; type: string } | undefined {
  const found = tail.filter(({ seq, type }) => seq > after && explainingTypes.has(type));
  const newest = (events: readonly StoredEvent[]) => {
    const event = events.at(-1);
    return event && { seq: event.seq, type: event.type };
  };
  if (block < frameBlocks) return newest(found) ?? cutBehind(after, { ranges });
  // A cut can take the frame out of view. The frame is then written again, but it is the cut that changed the messages.
  const others = found.filter(({ type }) => type !== "context.framed");
  return newest(others) ?? cutBehind(after, { ranges }) ?? newest(found);
}

/** A cut is stored just below the range it opened and is not visible itself. */
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
