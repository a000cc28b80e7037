import {
  formatDollars,
  type OwnerId,
  type Rights,
  type RunId,
  type SessionId,
} from "@holdfast/protocol";
import type { Log } from "../log/log.ts";

/** What a limit covers. Each is the cause of a run that ends at it. */
export type SpendCause =
  | "spend"
  | "spend_session"
  | "spend_schedule"
  | "spend_day"
  | "spend_profile";

/** A limit on what models may cost, in millionths of a dollar. */
export interface SpendLimit {
  readonly cause: SpendCause;
  readonly limitMicros: number;
  readonly spentMicros: number;
  /** The schedule's title, or the rights profile's name. */
  readonly name?: string;
}

/** What a model is called for: a run, or background work on a session. */
export interface PaidWork {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly runId?: RunId;
}

/** The limits of a session and of a schedule that apply to this work. */
export type SpendLimitsOf = (work: PaidWork) => Promise<readonly SpendLimit[]>;

/** All runs, including this one, that share one spending limit: a run and those started on its behalf. */
export type RunsSharingBudget = (
  run: PaidWork & { readonly runId: RunId },
) => Promise<readonly RunId[]>;

export interface SpendDeps {
  readonly log: Log;
  readonly limits: {
    readonly costMicros?: number | undefined;
    readonly costMicrosPerDay?: number | undefined;
  };
  /** By default each run has its own budget. */
  readonly runsSharingBudget?: RunsSharingBudget | undefined;
  /** By default there are no others than `limits`. */
  readonly spendLimitsOf?: SpendLimitsOf | undefined;
}

const dayMs = 24 * 3_600_000;

/**
 * The first limit that leaves nothing for another call of a model. Asked before each: a limit that is reached stops
 * what runs between two steps, and background work too.
 */
export async function findReachedLimit(
  deps: SpendDeps,
  work: PaidWork,
  rights?: Rights,
): Promise<SpendLimit | null> {
  const [run, others, day, profiles] = await Promise.all([
    runLimit(deps, work),
    deps.spendLimitsOf?.(work) ?? [],
    dayLimit(deps, work),
    profileLimits(deps, work, rights),
  ]);
  const all = [...run, ...others, ...day, ...profiles];
  return all.find(({ limitMicros, spentMicros }) => spentMicros >= limitMicros) ?? null;
}

async function runLimit(
  { log, limits, runsSharingBudget }: SpendDeps,
  { owner, session, runId }: PaidWork,
): Promise<readonly SpendLimit[]> {
  const limitMicros = limits.costMicros;
  if (limitMicros === undefined || runId === undefined) return [];
  const runs = (await runsSharingBudget?.({ owner, session, runId })) ?? [runId];
  const usages = await Promise.all(runs.map((id) => log.store.reads.usage(owner, { runId: id })));
  const spentMicros = usages.reduce((sum, { costMicros }) => sum + costMicros, 0);
  return [{ cause: "spend", limitMicros, spentMicros }];
}

async function dayLimit(
  { log, limits }: SpendDeps,
  { owner }: PaidWork,
): Promise<readonly SpendLimit[]> {
  const limitMicros = limits.costMicrosPerDay;
  if (limitMicros === undefined) return [];
  const since = (await log.store.now()) - dayMs;
  const { costMicros } = await log.store.reads.usage(owner, { since });
  return [{ cause: "spend_day", limitMicros, spentMicros: costMicros }];
}

/** What all runs with a profile have spent within 24 hours. */
async function profileLimits(
  { log }: SpendDeps,
  { owner }: PaidWork,
  rights: Rights | undefined,
): Promise<readonly SpendLimit[]> {
  if (rights?.spend === undefined) return [];
  const since = (await log.store.now()) - dayMs;
  return Promise.all(
    Object.entries(rights.spend).map(async ([name, limitMicros]) => {
      const { costMicros } = await log.store.reads.usage(owner, { since, profile: name });
      return { cause: "spend_profile", name, limitMicros, spentMicros: costMicros } as const;
    }),
  );
}

/** What a person is told: which limit stopped it, what it had cost, and how to go on. */
export function reachedLimitText({
  cause,
  name = "",
  limitMicros,
  spentMicros,
}: SpendLimit): string {
  const [limit, spent] = [formatDollars(limitMicros), formatDollars(spentMicros)];
  const goOn = (what: string) =>
    `Nothing is lost: raise the limit (/limit ${what}) and continue with /resume.`;
  switch (cause) {
    case "spend":
      return `This answer has cost ${spent}; the limit for one answer is ${limit}. ${goOn("run")}`;
    case "spend_session":
      return `This conversation has cost ${spent}; its limit is ${limit}. ${goOn("session")}`;
    case "spend_day":
      return `The last 24 hours have cost ${spent}; the limit is ${limit}. ${goOn("day")}`;
    case "spend_schedule":
      return `The schedule “${name}” has cost ${spent} in this period; its limit is ${limit}. Nothing is lost: raise its limit and continue with /resume.`;
    case "spend_profile":
      return `The rights profile ${name} has cost ${spent} in the last 24 hours; its limit is ${limit}. Raise the limit, or ask again later.`;
  }
}
