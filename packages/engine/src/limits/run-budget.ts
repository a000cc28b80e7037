import type { NewEvent, RunBudget, RunId, StoredEvent } from "@holdfast/protocol";
import type { ContextEntries } from "../context/session-context.ts";
import type { Log } from "../log/log.ts";
import type { RunHandle } from "../run/run-handle.ts";

type BudgetedRun = Pick<RunHandle, "owner" | "session" | "runId" | "lane">;

/** What single runs may use of their own, besides the limits of all runs. */
export interface RunBudgets {
  /** `null` for a run without a budget. */
  of(run: BudgetedRun): Promise<RunBudget | null>;
  /** The run and those that were started on its behalf: what they use counts too. */
  runsBelow(run: BudgetedRun): Promise<readonly RunId[]>;
}

export interface RunBudgetDeps {
  readonly log: Log;
  readonly budgets?: RunBudgets | undefined;
}

export const budgetNotice = "budget_used";

/**
 * A run whose budget is used up is told to conclude: it answers once more with what it has, and calls of that answer are
 * not run. That it was told is in the log, so it is told once, whoever drives it.
 */
export function createRunBudget(
  deps: RunBudgetDeps,
  run: BudgetedRun & Pick<RunHandle, "event" | "ids">,
) {
  let read: Promise<RunBudget | null> | undefined;
  const budget = () => (read ??= deps.budgets?.of(run) ?? Promise.resolve(null));

  async function used(soFar: {
    readonly steps: number;
    readonly timeMs: number;
  }): Promise<string | null> {
    const most = await budget();
    if (most === null) return null;
    const { steps = Infinity, timeMs = Infinity, tokens = Infinity, costMicros = Infinity } = most;
    if (soFar.steps >= steps) return `${steps} steps`;
    if (soFar.timeMs >= timeMs) return `${Math.round(timeMs / 1_000)} seconds`;
    if (tokens === Infinity && costMicros === Infinity) return null;
    const spent = await spentBy(deps, run);
    if (spent.tokens >= tokens) return `${tokens} tokens`;
    return spent.costMicros >= costMicros ? `$${(costMicros / 1_000_000).toFixed(2)}` : null;
  }

  return {
    async isTold({ head, tail }: Pick<ContextEntries, "head" | "tail">): Promise<boolean> {
      if ((await budget()) === null) return false;
      const tells = ({ runId, data }: StoredEvent) =>
        runId === run.runId && data["kind"] === budgetNotice;
      return tail.some(tells) || head.some(tells);
    },
    /** The notice that tells it, if there is a reason to. */
    async conclude(soFar: {
      readonly steps: number;
      readonly timeMs: number;
    }): Promise<NewEvent | null> {
      const limit = await used(soFar);
      if (limit === null) return null;
      const text = `The budget of this task is used up (${limit}). Answer now with what you have, and say what is missing: no further tool runs.`;
      return run.event("notice.added", {
        noticeId: run.ids.make("notice"),
        kind: budgetNotice,
        text,
      });
    },
  };
}

async function spentBy(
  { log, budgets }: RunBudgetDeps,
  run: BudgetedRun,
): Promise<{ readonly tokens: number; readonly costMicros: number }> {
  const usages = await Promise.all(
    ((await budgets?.runsBelow(run)) ?? []).map((runId) =>
      log.store.reads.usage(run.owner, { runId }),
    ),
  );
  return usages.reduce(
    (sum, { input, output, costMicros }) => ({
      tokens: sum.tokens + input + output,
      costMicros: sum.costMicros + costMicros,
    }),
    { tokens: 0, costMicros: 0 },
  );
}
