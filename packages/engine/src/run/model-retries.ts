import { backoffMs } from "@holdfast/protocol";
import { compactAfterOverflow, type ContextFit } from "../context/compactor.ts";
import type { RunContext } from "../context/session-context.ts";
import type { Clock, Random } from "../ports/clock.ts";
import type { ModelFailure } from "../ports/model.ts";
import type { RunHandle } from "./run-handle.ts";

/** `retryNow`: the obstacle was in the context and is gone, so neither a pause nor another model is needed. */
export type TransientFailure = ModelFailure & { readonly retryNow?: true };

export function isRetryable(failure: ModelFailure): boolean {
  return failure.class === "retryable" || failure.class === "overloaded";
}

/** Where waiting longer costs more than it helps. */
const fewTries = 5;

/** An answer that broke off was paid for, and a fallback can answer now: neither waits as long as an empty outage. */
export function triesFor(
  modelTries: number,
  { answer, next }: { readonly answer: "none" | "broke off"; readonly next: string | null },
): number {
  return answer === "none" && next === null ? modelTries : Math.min(fewTries, modelTries);
}

export const stepBackoff = { firstMs: 500, longestMs: 30_000 };

export function retryDelayMs(tries: number, failure: TransientFailure, random: Random): number {
  if (failure.retryNow === true) return 0;
  return Math.max(backoffMs(stepBackoff, tries, random), failure.retryAfterMs ?? 0);
}

/** Compacts a context that was too long; the failure is then transient. */
export async function recoverFromOverflow(
  { fit, clock }: { readonly fit?: ContextFit | undefined; readonly clock: Clock },
  run: RunHandle,
  call: {
    readonly modelName: string;
    readonly tokens: number;
    readonly context: Pick<RunContext, "epochs">;
  },
  failure: ModelFailure,
): Promise<TransientFailure> {
  const { modelName: model, tokens, context } = call;
  if (failure.class !== "overflow" || fit === undefined) return failure;
  const recovered = await compactAfterOverflow(
    fit,
    run,
    { model, tokens, epoch: context.epochs },
    clock,
  );
  return recovered === "compacted" ? { ...failure, class: "retryable", retryNow: true } : recovered;
}
