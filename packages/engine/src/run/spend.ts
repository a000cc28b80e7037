import type { RunId } from "@holdfast/protocol";

import type { Log } from "../log/log.ts";
import type { RunHandle } from "./run-handle.ts";

export interface RunLimits {
  readonly steps: number;
  readonly timeMs: number;
  /** Millionths of a dollar; none by default. */
  readonly costMicros?: number;
  /** What all runs of an owner may cost within 24 hours by the store's clock. Past it no run begins. */
  readonly costMicrosPerDay?: number;
  /** How often a model call that failed in passing is tried again. */
  readonly modelTries: number;
}

/** All runs, this one among them, whose spend is held against one limit: those that others have begun on its behalf. */
export type RunsSharingBudget = (
  run: Pick<RunHandle, "owner" | "session" | "runId">,
) => Promise<readonly RunId[]>;

export interface BudgetDeps {
  readonly log: Log;
  readonly limits: RunLimits;
  /** Each run by itself unless told. */
  readonly runsSharingBudget?: RunsSharingBudget;
}

export async function isOverBudget(
  { log, limits, runsSharingBudget: spendsWith }: BudgetDeps,
  run: RunHandle,
): Promise<boolean> {
  if (limits.costMicros === undefined) return false;
  const runs = (await spendsWith?.(run)) ?? [run.runId];
  const usages = await Promise.all(
    runs.map((runId) => log.store.reads.usage(run.owner, { runId })),
  );
  const spent = usages.reduce((sum, { costMicros }) => sum + costMicros, 0);
  return spent >= limits.costMicros;
}

const dayMs = 24 * 3_600_000;

export async function isDailyBudgetSpent(
  { log, limits }: BudgetDeps,
  { owner }: RunHandle,
): Promise<boolean> {
  if (limits.costMicrosPerDay === undefined) return false;
  const since = (await log.store.now()) - dayMs;
  const usage = await log.store.reads.usage(owner, { since });
  return usage.costMicros >= limits.costMicrosPerDay;
}

export function dailyBudgetText({ costMicrosPerDay = 0 }: RunLimits): string {
  const dollars = (costMicrosPerDay / 1_000_000).toFixed(2);
  return `The limit of $${dollars} for 24 hours is spent, so this was not begun. Raise the limit, or ask again later.`;
}
