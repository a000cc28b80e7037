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
import type { Store } from "../ports/store.ts";
import type { FrameBytes, Block } from "./build-context.ts";
import type { ContextEntries } from "./read-context.ts";

/** The renderer of `messages.ts`. A change of what it writes is a new number beside the old one, not in its place. */
const rendering = 2;

/** How a context would begin if it began today. */
export interface FrameSource {
  /** Of what both are made from, but for what is frozen at a session's beginning (its notes). */
  readonly signature: string;
  readonly tools: readonly ToolSpec[];
  system(): Promise<string>;
}

export type Framed =
  | {
      readonly status: "framed";
      readonly frame: ContextFrame;
      readonly bytes: FrameBytes;
      /** To be committed before the frame is used: the session has had another one until now, or none. */
      readonly event?: EventData<"context.framed">;
    }
  | Failed;

/**
 * P9: a session keeps the system prompt and the tools that it began with, byte by byte, as long as what they are made from
 * is the same. They are stored by their content: a thousand sessions that begin alike store them once.
 */
export async function frameContext(
  store: Pick<Store, "reads" | "putBlob">,
  owner: OwnerId,
  known: ContextFrame | null,
  source: FrameSource,
): Promise<Framed> {
  const isCurrent = known?.signature === source.signature && known.rendering === rendering;
  const kept = known !== null && isCurrent ? await readFrame(store, owner, known) : null;
  if (known !== null && kept !== null) return { status: "framed", frame: known, bytes: kept };
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

/** P9: a change says what has changed, where the two signatures name their parts alike. */
function causeOf(known: ContextFrame | null, signature: string): string {
  if (known === null) return "first";
  if (known.rendering !== rendering) return "rendering";
  if (known.signature === signature) return "lost";
  const before = new Set(known.signature.split(" "));
  const names = signature.split(" ").map((part) => (before.has(part) ? "" : partName(part)));
  const changed = names.filter((name) => name !== "");
  const isNamed = changed.length > 0 && !changed.includes(unnamedPart);
  return isNamed ? changed.join(" ").slice(0, longestCause) : "configuration";
}

const unnamedPart = "?";

function partName(part: string): string {
  return /^(?<name>[a-z]+)=/u.exec(part)?.groups?.["name"] ?? unnamedPart;
}

/** How a context begins, as it was stored. `null`: the bytes are gone, or are not what they were. */
export async function readFrame(
  { reads }: Pick<Store, "reads">,
  owner: OwnerId,
  { system, tools }: ContextFrame,
): Promise<FrameBytes | null> {
  const [text, specs] = await Promise.all([reads.blob(owner, system), reads.blob(owner, tools)]);
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
