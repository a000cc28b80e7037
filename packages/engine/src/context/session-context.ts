import {
  type RequestRecord,
  type Seq,
  type ContextFrame,
  decodeEvent,
  type KnownEvent,
  type OwnerId,
  type SeqRange,
  type SessionId,
  type StoredEvent,
  type TaintSource,
} from "@holdfast/protocol";
import {
  buildContext,
  type BuiltContext,
  type FrameBytes,
  type HashMemo,
} from "./build-context.ts";
import {
  type Framed,
  frameContext,
  type FrameSource,
  recordRequest,
  lastSentRequest,
  type SentRequest,
} from "./prefix.ts";
import type { CountTokens } from "../ports/background-models.ts";
import type { ModelUsage } from "../ports/model.ts";
import type { Store } from "../ports/store.ts";
import type { RunHandle } from "../run/run-handle.ts";
import type { ActiveSkill } from "./active-skills.ts";
import { taintOf } from "./taint.ts";
import { newestFirst, withAmendments } from "../log/read-views.ts";
import type { Reads } from "../ports/reads.ts";

/** What is known of a session's context between steps, and between runs while an agent stays warm. */
export interface CachedContext {
  entries: ContextEntries | null;
  /** The newest request, as far as the log records it. */
  sent: SentRequest | null;
  recorded: readonly string[] | null;
  /** How many provider tokens correspond to one token counted here. */
  correction: number;
  readonly hashes: HashMemo;
}

export function emptyCachedContext(): CachedContext {
  return { entries: null, sent: null, recorded: null, correction: 1, hashes: new Map() };
}

/** Each text is held twice: for its hash, and in the entries. */
export function cachedContextBytes({ hashes }: CachedContext): number {
  let characters = 0;
  for (const text of hashes.keys()) characters += text.length;
  return characters * 4;
}

export interface SentContext extends BuiltContext {
  readonly record: RequestRecord;
  /** In tokens as counted here. */
  readonly counted: number;
}

/** A session's context as used by one run. Reads and hashes only what is new. */
export class RunContext {
  readonly #store: Store;
  readonly #run: RunHandle;
  readonly #cached: CachedContext;
  readonly #count: CountTokens | undefined;

  constructor(
    store: Store,
    run: RunHandle,
    cached: CachedContext = emptyCachedContext(),
    count?: CountTokens,
  ) {
    this.#count = count;
    this.#store = store;
    this.#run = run;
    this.#cached = cached;
  }

  /** How many epochs the session had at the last read. */
  get epochs(): number | undefined {
    return this.#cached.entries?.epochs;
  }

  /** Its text that a stranger may have written, as of the last read. */
  get taint(): readonly TaintSource[] {
    const { entries } = this.#cached;
    return entries === null ? [] : taintOf(entries);
  }

  /** The entries the model currently gets. `null`: the session is gone. */
  async read(): Promise<ContextEntries | null> {
    const { owner, session } = this.#run;
    const { entries: cached } = this.#cached;
    const { reads } = this.#store;
    const entries =
      cached === null
        ? await readContext(reads, owner, session)
        : await refreshContext(reads, owner, session, cached);
    if (entries !== null && !isContinuation(cached, entries)) this.#restoreLastRequest(entries);
    this.#cached.entries = entries;
    return entries;
  }

  /** How the context starts. If it comes with an event, that event must be in the log before the frame is used. */
  frame(source: FrameSource): Promise<Framed> {
    const frame = this.#cached.entries?.frame ?? null;
    return frameContext(this.#store, this.#run.owner, frame, source);
  }

  /**
   * Builds the request for the step that has started and the record the log will keep of it. From here on it counts as
   * sent. `null`: the session is gone.
   */
  async request(bytes: FrameBytes, stepSeq: Seq, model: string): Promise<SentContext | null> {
    const entries = await this.read();
    if (entries === null) return null;
    const { sent, recorded, hashes } = this.#cached;
    const context = buildContext(entries, bytes, hashes, this.#count);
    const record = recordRequest(sent, recorded, entries, { blocks: context.blocks, model });
    const sentHashes = context.blocks.map(({ hash }) => hash);
    this.#cached.sent = { seq: stepSeq, hashes: sentHashes, model, knownFrom: "sending" };
    return { ...context, record, counted: countedTokens(context) };
  }

  /** Estimates the length of the next request. */
  estimateTokens(bytes: FrameBytes): number {
    const { entries, hashes } = this.#cached;
    if (entries === null) return 0;
    return this.tokensIn(countedTokens(buildContext(entries, bytes, hashes, this.#count)));
  }

  tokensIn(counted: number): number {
    return Math.ceil(counted * this.#cached.correction);
  }

  /** Learns from the provider's count for a request that was counted here. */
  learnTokens(counted: number, { input, cacheRead = 0, cacheWrite = 0 }: ModelUsage): void {
    const ratio = Math.max(input, cacheRead + cacheWrite) / counted;
    // Ignore a provider that counts nothing or nonsense.
    if (ratio >= 0.2 && ratio <= 5) this.#cached.correction = ratio;
  }

  /** The record is in the log, with the message made from its request. */
  markRecorded(): void {
    this.#cached.recorded = this.#cached.sent?.hashes ?? null;
  }

  /** A context that was reshaped, or is read for the first time, takes its last request from its own entries. */
  #restoreLastRequest(entries: ContextEntries): void {
    const lastRequest = lastSentRequest(entries);
    this.#cached.sent ??= lastRequest;
    this.#cached.recorded = lastRequest?.hashes ?? null;
  }
}

function countedTokens({ blocks }: BuiltContext): number {
  return blocks.reduce((sum, { tokens }) => sum + tokens, 0);
}

function isContinuation(cached: ContextEntries | null, entries: ContextEntries): boolean {
  if (cached === null) return false;
  return cached.epoch?.seq === entries.epoch?.seq && cached.ranges === entries.ranges;
}

/** The summary the context starts with, and the entries it covers. */
export interface AppliedEpoch {
  readonly number: number;
  /** Its position in the log. */
  readonly seq: Seq;
  readonly covers: { readonly from: Seq; readonly to: Seq };
  readonly summary: string;
  /** What a stranger may have written of what it covers. */
  readonly taint?: readonly TaintSource[];
  /** Skills activated in what it covers. */
  readonly skills?: readonly ActiveSkill[];
}

/** The part of a session the model gets, at one version. */
export interface ContextEntries {
  readonly version: number;
  /** The newest seq of the session's own log at that version. */
  readonly logHead: Seq;
  /** How often the start of the context has changed. */
  readonly epochs: number;
  /** What was visible at that version. */
  readonly ranges: readonly SeqRange[];
  readonly frame: ContextFrame | null;
  readonly epoch: AppliedEpoch | null;
  /** Entries before the covered range; the whole conversation if nothing is covered. */
  readonly head: readonly StoredEvent[];
  /** Entries after it. */
  readonly tail: readonly StoredEvent[];
}

/**
 * Reads what the model gets: a function of the log, the visible ranges and the epoch. The cost depends on what is live,
 * however long the conversation below the epoch is. All pages are of one version: if it moves meanwhile, they are read
 * again.
 */
export async function readContext(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
): Promise<ContextEntries | null> {
  for (;;) {
    const row = await reads.session(owner, session);
    if (row === null) return null;
    const read = await readOnce(reads, owner, session);
    const after = await reads.session(owner, session);
    const { version, head: logHead, ranges, epoch: epochs } = row;
    // Late entries go with their notice, even if a cut took their seq out of view.
    const tail = await withAmendments(reads, row, read.tail, "newest");
    if (after?.version === version) return { version, logHead, ranges, epochs, ...read, tail };
  }
}

/** Entries that change earlier ones. A cut does so too, and shows in the ranges. */
const reshaping: ReadonlySet<string> = new Set([
  "context.compacted",
  "context.epoch",
  "notice.changed",
]);

/**
 * Brings an earlier read up to date: reads nothing if the version is the same, only what is new if entries were
 * appended, and everything if the context was reshaped.
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
  if (!sameRanges(row.ranges, known.ranges)) return readContext(reads, owner, session);
  const found: StoredEvent[] = [];
  for await (const entry of newestFirst(reads, owner, session)) {
    // Not the known entries' seqs: late entries of a branch's origin have seqs that the branch gives again.
    if (entry.seq <= known.logHead) break;
    // Written since the row was read: the next refresh finds it, because the version is older.
    if (entry.seq > row.head) continue;
    if (reshaping.has(entry.type)) return readContext(reads, owner, session);
    found.push(entry);
  }
  const added = found.toReversed();
  const frame = frameIn(added) ?? known.frame;
  const { version, head: logHead } = row;
  return { ...known, version, logHead, frame, tail: [...known.tail, ...added] };
}

async function readOnce(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
): Promise<Omit<ContextEntries, "version" | "logHead" | "ranges" | "epochs">> {
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

function sameRanges(a: readonly SeqRange[], b: readonly SeqRange[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The newest entry about epochs decides; `epoch: null` is the whole conversation. */
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
  // An epoch counts only while it is visible, and it is stored above everything it covers.
  if (restored?.seq !== at || restored?.type !== "context.compacted")
    return { epoch: null, frame: null };
  return compactedChoice(restored);
}

function compactedChoice({
  seq,
  data,
}: Extract<KnownEvent, { type: "context.compacted" }>): EpochChoice {
  const { epoch: number, covers, summary, frame, taint = [], skills = [] } = data;
  return { epoch: { number, seq, covers, summary, taint, skills }, frame: frame ?? null };
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
