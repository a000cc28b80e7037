import type { Compaction, CompactionReason } from "../context/compact.ts";
import type { FrameBytes } from "../context/build-context.ts";
import type { Clock } from "../ports/clock.ts";
import type { CountTokens } from "../ports/background-models.ts";
import type { ModelFailure } from "../ports/model.ts";
import type { RunContext } from "./run-context.ts";
import type { RunHandle } from "./run-handle.ts";

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
