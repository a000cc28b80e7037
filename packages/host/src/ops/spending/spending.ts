import { findReachedLimit, type Log, type RunLimits, type SpendDeps } from "@holdfast/engine";
import type { OwnerId, SessionId } from "@holdfast/protocol";
import { delegationTree } from "../../automation/delegate/child-session.ts";
import type { Config } from "../config/settings.ts";
import { createSpendLimits, type SpendLimits } from "./spend-limits.ts";

/** What stops a host's calls of models: the limits of runs, and of whatever they count for. */
export interface Spending extends Pick<SpendDeps, "runsSharingBudget" | "spendLimitsOf"> {
  readonly limits: RunLimits;
  readonly spendLimits: SpendLimits;
  /** Whether background work on a session may call a model. */
  readonly mayCallModel: (owner: OwnerId, session: SessionId) => Promise<boolean>;
}

export interface SpendingDeps {
  readonly log: Log;
  readonly config: Pick<Config, "spendPerRun" | "spendPerDay" | "spendPerSession">;
  readonly stepLimits: RunLimits;
}

export function createSpending({ log, config, stepLimits }: SpendingDeps): Spending {
  const { store } = log;
  const spendLimits = createSpendLimits({ store, config });
  const deps = {
    limits: runLimits(config, stepLimits),
    runsSharingBudget: (run) => delegationTree(store.reads, run),
    spendLimitsOf: spendLimits.of,
  } satisfies Partial<SpendDeps>;
  return {
    ...deps,
    spendLimits,
    mayCallModel: async (owner, session) =>
      (await findReachedLimit({ log, ...deps }, { owner, session })) === null,
  };
}

function runLimits(
  { spendPerRun, spendPerDay }: SpendingDeps["config"],
  stepLimits: RunLimits,
): RunLimits {
  const micros = (dollars: number | undefined): number | undefined =>
    dollars === undefined ? undefined : Math.round(dollars * 1_000_000);
  return {
    ...stepLimits,
    // Read before each step: the page changes them while runs are under way.
    get costMicros() {
      return micros(spendPerRun.value);
    },
    get costMicrosPerDay() {
      return micros(spendPerDay.value);
    },
  };
}
