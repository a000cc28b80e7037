import {
  type ContextFrame,
  decodeEvent,
  type KnownEvent,
  type OwnerId,
  type Seq,
  type SeqRange,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";

import { newestFirst, withAmendments } from "../log/entries.ts";
import type { Reads } from "../ports/reads.ts";

/** The summary that the context begins with, and which entries it stands for. */
export interface AppliedEpoch {
  readonly number: number;
  /** Where it stands in the log. */
  readonly seq: Seq;
  readonly covers: { readonly from: Seq; readonly to: Seq };
  readonly summary: string;
}

/** The part of a session that the model gets, as it was at one version. */
export interface ContextEntries {
  readonly version: number;
  /** How often what the context begins with has changed. */
  readonly epochs: number;
  /** What was visible at that version. */
  readonly ranges: readonly SeqRange[];
  readonly frame: ContextFrame | null;
  readonly epoch: AppliedEpoch | null;
  /** Before what the summary covers; all of the conversation when nothing is covered. */
  readonly head: readonly StoredEvent[];
  /** Behind it. */
  readonly tail: readonly StoredEvent[];
}

/**
 * Reads what the model gets: a function of the log, the visible ranges and the epoch. Costs what is live, however
 * long the conversation below the epoch is. The pages are of one version: when it moves meanwhile, they are read again.
 */
export async function readContext(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
): Promise<ContextEntries | null> {
  for (;;) {
    const before = await reads.session(owner, session);
    if (before === null) return null;
    const read = await readOnce(reads, owner, session);
    const after = await reads.session(owner, session);
    const { version, ranges, epoch: epochs } = before;
    // What was found late goes with its notice, also when a cut has taken its number out of view.
    const tail = await withAmendments(reads, before, read.tail, "newest");
    if (after?.version === version) return { version, ranges, epochs, ...read, tail };
  }
}

/** Entries that change what stands before them. A cut does too, and is seen by the ranges. */
const reshaping: ReadonlySet<string> = new Set([
  "context.compacted",
  "context.epoch",
  "notice.changed",
]);

/**
 * What was read before, brought up to date: nothing is read when the version is the same, only what is new when it was
 * added to, and everything when it was reshaped.
 */
export async function refreshContext(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  known: ContextEntries,
): Promise<ContextEntries | null> {
  const row = await reads.session(owner, session);
  if (row === null) return null;
  if (row.version === known.version) return known;
  const last = known.tail.at(-1)?.seq;
  if (last === undefined || !sameRanges(row.ranges, known.ranges))
    return readContext(reads, owner, session);
  const found: StoredEvent[] = [];
  for await (const entry of newestFirst(reads, owner, session)) {
    if (entry.seq <= last) break;
    if (reshaping.has(entry.type)) return readContext(reads, owner, session);
    found.push(entry);
  }
  const after = await reads.session(owner, session);
  if (after?.version !== row.version) return readContext(reads, owner, session);
  const added = found.toReversed();
  const frame = frameIn(added) ?? known.frame;
  return { ...known, version: row.version, frame, tail: [...known.tail, ...added] };
}

async function readOnce(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
): Promise<Omit<ContextEntries, "version" | "ranges" | "epochs">> {
  const found: StoredEvent[] = [];
  let choice: EpochChoice | undefined;
  for await (const entry of newestFirst(reads, owner, session)) {
    choice ??= await epochChoiceOf(reads, owner, session, entry);
    if (choice?.epoch && entry.seq <= choice.epoch.covers.to) break;
    found.push(entry);
  }
  const tail = found.toReversed();
  const epoch = choice?.epoch ?? null;
  const head = epoch === null ? [] : await allBefore(reads, owner, session, epoch.covers.from);
  return { frame: frameIn(tail) ?? choice?.frame ?? frameIn(head), epoch, head, tail };
}

function sameRanges(some: readonly SeqRange[], others: readonly SeqRange[]): boolean {
  return JSON.stringify(some) === JSON.stringify(others);
}

/** The newest entry that speaks of epochs decides; `epoch: null` is the whole conversation. */
interface EpochChoice {
  readonly epoch: AppliedEpoch | null;
  readonly frame: ContextFrame | null;
}

async function epochChoiceOf(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  entry: StoredEvent,
): Promise<EpochChoice | undefined> {
  if (!entry.type.startsWith("context.")) return undefined;
  const event = knownEvent(entry);
  if (event?.type === "context.compacted") return compactedChoice(event);
  if (event?.type !== "context.epoch") return undefined;
  const { at } = event.data;
  const page =
    at === undefined
      ? null
      : await reads.entries(owner, session, { before: (at + 1) as Seq, limit: 1 });
  const restored = page?.entries[0] && knownEvent(page.entries[0]);
  // An epoch counts only while it is visible, and it stands above everything that it covers.
  if (restored?.seq !== at || restored?.type !== "context.compacted")
    return { epoch: null, frame: null };
  return compactedChoice(restored);
}

function compactedChoice({
  seq,
  data,
}: Extract<KnownEvent, { type: "context.compacted" }>): EpochChoice {
  const { epoch: number, covers, summary, frame } = data;
  return { epoch: { number, seq, covers, summary }, frame: frame ?? null };
}

function frameIn(entries: readonly StoredEvent[]): ContextFrame | null {
  const entry = entries.findLast(({ type }) => type === "context.framed");
  const event = entry && knownEvent(entry);
  return event?.type === "context.framed" ? event.data.frame : null;
}

async function allBefore(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  seq: Seq,
): Promise<readonly StoredEvent[]> {
  const found: StoredEvent[] = [];
  for await (const entry of newestFirst(reads, owner, session, seq)) found.push(entry);
  return found.toReversed();
}

function knownEvent(entry: StoredEvent): KnownEvent | undefined {
  const decoded = decodeEvent(entry);
  return decoded.kind === "known" ? decoded.event : undefined;
}
