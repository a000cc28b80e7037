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

/** What is known of a session's context from step to step, and from run to run while an agent stays warm. */
export interface CachedContext {
  entries: ContextEntries | null;
  /** The newest request, and as much of it as stands in the log. */
  sent: SentRequest | null;
  recorded: readonly string[] | null;
  /** How many tokens the provider counts for one that is counted here. */
  correction: number;
  readonly hashes: HashMemo;
}

export function emptyCachedContext(): CachedContext {
  return { entries: null, sent: null, recorded: null, correction: 1, hashes: new Map() };
}

export interface SentContext extends BuiltContext {
  readonly record: RequestRecord;
  /** As counted here. */
  readonly counted: number;
}

/** A session's context as one run uses it. Reads what is new, hashes what is new. */
export class RunContext {
  readonly #store: Store;
  readonly #run: RunHandle;
  readonly #known: CachedContext;
  readonly #count: CountTokens | undefined;

  constructor(
    store: Store,
    run: RunHandle,
    known: CachedContext = emptyCachedContext(),
    count?: CountTokens,
  ) {
    this.#count = count;
    this.#store = store;
    this.#run = run;
    this.#known = known;
  }

  /** The session's epochs as of what was read last. */
  get epochs(): number | undefined {
    return this.#known.entries?.epochs;
  }

  /** The entries that the model gets, as they are now. `null`: the session is gone. */
  async read(): Promise<ContextEntries | null> {
    const { owner, session } = this.#run;
    const { entries: known } = this.#known;
    const { reads } = this.#store;
    const entries =
      known === null
        ? await readContext(reads, owner, session)
        : await refreshContext(reads, owner, session, known);
    if (entries !== null && !isContinuation(known, entries)) this.#learn(entries);
    this.#known.entries = entries;
    return entries;
  }

  /** How the context begins, as far as is known; with an event, it has to stand in the log before it is used. */
  frame(source: FrameSource): Promise<Framed> {
    const frame = this.#known.entries?.frame ?? null;
    return frameContext(this.#store, this.#run.owner, frame, source);
  }

  /**
   * The request for the step that has begun, and what will be said of it in the log. From here on it counts as sent.
   * `null`: the session is gone.
   */
  async request(bytes: FrameBytes, begun: Seq, model: string): Promise<SentContext | null> {
    const entries = await this.read();
    if (entries === null) return null;
    const { sent, recorded, hashes } = this.#known;
    const context = buildContext(entries, bytes, hashes, this.#count);
    const record = recordRequest(sent, recorded, entries, { blocks: context.blocks, model });
    const sentHashes = context.blocks.map(({ hash }) => hash);
    this.#known.sent = { seq: begun, hashes: sentHashes, model, knownFrom: "sending" };
    return { ...context, record, counted: countedTokens(context) };
  }

  /** About how long the next request is, before it is made. */
  estimateTokens(bytes: FrameBytes): number {
    const { entries, hashes } = this.#known;
    if (entries === null) return 0;
    return this.tokensIn(countedTokens(buildContext(entries, bytes, hashes, this.#count)));
  }

  tokensIn(counted: number): number {
    return Math.ceil(counted * this.#known.correction);
  }

  /** What the provider counted for a request that was counted here. */
  learnTokens(counted: number, { input, cacheRead = 0, cacheWrite = 0 }: ModelUsage): void {
    const seen = Math.max(input, cacheRead + cacheWrite) / counted;
    // A provider that counts nothing, or nonsense, is not believed.
    if (seen >= 0.2 && seen <= 5) this.#known.correction = seen;
  }

  /** The record stands in the log, with the message that was made from its request. */
  markRecorded(): void {
    this.#known.recorded = this.#known.sent?.hashes ?? null;
  }

  /** What was reshaped, or is read for the first time, tells itself what was recorded of it. */
  #learn(entries: ContextEntries): void {
    const before = lastSentRequest(entries);
    this.#known.sent ??= before;
    this.#known.recorded = before?.hashes ?? null;
  }
}

function countedTokens({ blocks }: BuiltContext): number {
  return blocks.reduce((sum, { tokens }) => sum + tokens, 0);
}

function isContinuation(known: ContextEntries | null, entries: ContextEntries): boolean {
  if (known === null) return false;
  return known.epoch?.seq === entries.epoch?.seq && known.ranges === entries.ranges;
}

/** What keeps a session's context within its model's window. */
export interface ContextFit {
  /** In tokens; `null` when nobody knows. */
  windowOf(model: string): number | null;
  /** Rather too many than too few. */
  readonly count?: CountTokens;
  compact(
    run: RunHandle,
    reason: Extract<CompactionReason, "preflight" | "overflow">,
    need: { readonly windowTokens: number; readonly epoch: number | undefined },
  ): Promise<Compaction>;
}

/** Beyond this part of the window there is too little room for an answer. */
const nearlyFullShare = 0.8;

/** Before a step: what is nearly full is compacted first. If that is not possible now, the model is asked all the same. */
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
 * After a model said that the context is too long. Says whether asking again makes sense: it was compacted, by us or by
 * somebody else. A model whose window nobody knows has just told it: less than what it got.
 */
export async function compactAfterOverflow(
  fit: ContextFit,
  run: RunHandle,
  asked: { readonly model: string; readonly tokens: number; readonly epoch: number | undefined },
  clock: Clock,
): Promise<"made" | ModelFailure> {
  const windowTokens = Math.min(fit.windowOf(asked.model) ?? Infinity, asked.tokens);
  const result = await fit.compact(run, "overflow", { windowTokens, epoch: asked.epoch });
  switch (result.status) {
    case "compacted":
      return "made";
    case "deferred":
      // Whoever is at it needs a moment; what is asked next begins with their summary.
      if (result.why === "held") await clock.sleep(otherCompactionWaitMs, run.signal);
      return "made";
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
