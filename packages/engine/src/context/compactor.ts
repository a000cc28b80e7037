import type { IdSource, OwnerId, SessionId } from "@holdfast/protocol";
import type { Log } from "../log/log.ts";
import type { CountTokens, Summariser } from "../ports/background-models.ts";
import { identityOf } from "../ports/store.ts";
import type { Clock } from "../ports/clock.ts";
import type { ModelFailure } from "../ports/model.ts";
import type { RunContext } from "./session-context.ts";
import type { RunHandle } from "../run/run-handle.ts";
import type { FrameBytes } from "./build-context.ts";
import {
  type Compaction,
  type CompactionReason,
  type CompactionTarget,
  compactSession,
} from "./compact.ts";
import { createCompactionLock } from "./compaction-lock.ts";
import type { IdleCompactionSettings } from "./idle-compactor.ts";

/** Every compaction in this process goes through here. */
export interface Compactor extends ContextFit {
  compactNow(
    target: Omit<CompactionTarget, "reason" | "sizes">,
    reason: CompactionReason,
    windowTokens: number,
  ): Promise<Compaction>;
  readonly count: CountTokens;
}

/**
 * The share that is kept verbatim. A person who asks for compaction wants more of it gone than a host that only needs
 * room.
 */
const tailShares: Readonly<Record<CompactionReason, number>> = {
  asked: 0.1,
  preflight: 0.3,
  overflow: 0.3,
  idle: 0.3,
  hygiene: 0.3,
};
const summaryShare = 0.1;
const maxSummaryTokens = 4_000;

export interface CompactorDeps {
  /** By default the summary is put together from the messages themselves, without a model. */
  readonly summariser?: Summariser;
  /** By default unknown: a context is compacted only after a model rejects it as too long. */
  readonly windowOf?: ContextFit["windowOf"];
  /** By default four characters count as a token. */
  readonly count?: CountTokens;
  readonly learn?: (texts: readonly string[]) => Promise<void>;
  /** S0.14: how long the lock lasts; five minutes by default. */
  readonly lockMs?: number;
  /** By default idle sessions are not compacted. */
  readonly whenIdle?: IdleCompactionSettings;
}

export interface CompactorHooks {
  readonly onCompacted?: (owner: OwnerId, session: SessionId) => void;
  /** `false`: a spending limit is reached, so the summary is put together without a model. */
  readonly mayCallModel?: (owner: OwnerId, session: SessionId) => Promise<boolean>;
}

const noSummariser: Summariser = {
  summarise: async () => ({ status: "failed", code: "no_model", message: "No model is set." }),
};

export function createCompactor(
  log: Log,
  ids: IdSource,
  {
    summariser = noSummariser,
    windowOf = () => null,
    count = estimateTokens,
    learn,
    lockMs,
  }: CompactorDeps,
  { onCompacted, mayCallModel }: CompactorHooks = {},
): Compactor {
  const identity = identityOf(log.store);
  const deps = {
    log,
    ids,
    lock: createCompactionLock(log.store.leases, {
      liveness: identity,
      ...(lockMs !== undefined && { ttlMs: lockMs }),
    }),
    holder: () => identity.holder("compaction"),
    summariser,
    count,
    ...(learn && { learn }),
  };
  const compactNow: Compactor["compactNow"] = async (target, reason, windowTokens) => {
    const compaction = await compactSession(deps, {
      ...(mayCallModel && { mayCallModel: () => mayCallModel(target.owner, target.session) }),
      ...target,
      reason,
      sizes: {
        tailTokens: Math.floor(windowTokens * tailShares[reason]),
        summaryTokens: Math.min(maxSummaryTokens, Math.floor(windowTokens * summaryShare)),
      },
    });
    if (compaction.status === "compacted") onCompacted?.(target.owner, target.session);
    return compaction;
  };
  return {
    windowOf,
    compact: ({ owner, session }, reason, { windowTokens, epoch }) =>
      compactNow({ owner, session, epoch }, reason, windowTokens),
    compactNow,
    count,
  };
}

function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4);
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
): Promise<Compaction | null> {
  const window = fit.windowOf(model);
  if (window === null || context.estimateTokens(bytes) <= window * nearlyFullShare) return null;
  return fit.compact(run, "preflight", { windowTokens: window, epoch: context.epochs });
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
