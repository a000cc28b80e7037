import type { RequestRecord, Seq } from "@holdfast/protocol";
import {
  buildContext,
  type BuiltContext,
  type FrameBytes,
  type HashMemo,
} from "../context/build-context.ts";
import { type ContextEntries, readContext, refreshContext } from "../context/read-context.ts";
import {
  type Framed,
  frameContext,
  type FrameSource,
  recordRequest,
  lastSentRequest,
  type SentRequest,
} from "../context/prefix.ts";
import type { CountTokens } from "../ports/background-models.ts";
import type { ModelUsage, ModelFailure } from "../ports/model.ts";
import type { Store } from "../ports/store.ts";
import type { RunHandle } from "./run-handle.ts";
import type { Compaction, CompactionReason } from "../context/compact.ts";
import type { Clock } from "../ports/clock.ts";

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

/** Keeps a session's context within its model's window. */
export interface ContextFit {
  /** In tokens; `null` if unknown. */
  windowOf(model: string): number | null;
  /** Should overestimate rather than underestimate. */
  readonly count?: CountTokens;
  compact(
    run: RunHandle,
    reason: Extract<CompactionReason, "preflight" | "overflow">,
    need: { readonly windowTokens: number; readonly epoch: number | undefined },
  ): Promise<Compaction>;
}

/** Above this share of the window too little room is left for an answer. */
const nearlyFullShare = 0.8;

/** Compacts a nearly full context before a step. If that is not possible now, the model is called anyway. */
export async function compactIfNearlyFull(
  fit: ContextFit,
  run: RunHandle,
  context: RunContext,
  model: string,
  bytes: FrameBytes,
): Promise<void> {
  const window = fit.windowOf(model);
  if (window === null || context.estimateTokens(bytes) <= window * nearlyFullShare) return;
  await fit.compact(run, "preflight", { windowTokens: window, epoch: context.epochs });
}

const otherCompactionWaitMs = 2_000;

/**
 * Compacts after a model said the context is too long, and says whether a retry makes sense because we or somebody else
 * compacted it. If the model's window is unknown, it must be less than what was sent.
 */
export async function compactAfterOverflow(
  fit: ContextFit,
  run: RunHandle,
  failedCall: {
    readonly model: string;
    readonly tokens: number;
    readonly epoch: number | undefined;
  },
  clock: Clock,
): Promise<"compacted" | ModelFailure> {
  const windowTokens = Math.min(fit.windowOf(failedCall.model) ?? Infinity, failedCall.tokens);
  const result = await fit.compact(run, "overflow", { windowTokens, epoch: failedCall.epoch });
  switch (result.status) {
    case "compacted":
      return "compacted";
    case "deferred":
      // Give the other compaction a moment; the retry then starts with its summary.
      if (result.why === "held") await clock.sleep(otherCompactionWaitMs, run.signal);
      return "compacted";
    case "refused":
    case "failed":
      return contextTooLong;
  }
}

const contextTooLong: ModelFailure = {
  class: "overflow",
  code: "context_too_long",
  message:
    "The conversation is too long for this model, and could not be made shorter. Take something out of it, choose a model with more room, or begin a new one.",
};
