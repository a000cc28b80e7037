import { type IdSource, type RunId, type Seq, terminalStates } from "@holdfast/protocol";

import type { Log } from "../log/log.ts";
import type { Clock } from "../ports/clock.ts";
import type { Failed, Refused } from "../ports/commit.ts";
import type { Holder, LeaseRow } from "../ports/rows.ts";
import type { Snapshot } from "../ports/reads.ts";
import { requestCancel } from "../run/cancel.ts";
import { type Runner } from "../run/runner.ts";
import { type HistoryTarget, headMoved, noSession } from "./cut.ts";

export interface InterruptDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly holder: () => Holder;
  /** The runner of this process notices sooner when it is told; those of others look by themselves. */
  readonly runner: Pick<Runner, "notify">;
  /** How long a run may take to end before the person is told that it has not. */
  readonly timeoutMs?: number;
}

/** The run was asked to end, which is durable, and has not ended in the time that a person waits. */
export interface StillRunning {
  readonly status: "refused";
  readonly code: "cancel_pending";
  readonly message: string;
}

interface StatusResult {
  readonly status: string;
}

const defaultTimeoutMs = 15_000;

/**
 * Carries a command out, ending a run that is in its way: the run is cancelled, its end awaited, then the command is done.
 * Meanwhile nothing new is claimed, so a message that waits runs after the cut and not into it. A command that could not
 * be done anyway interrupts nothing.
 */
export async function interruptThen<R extends StatusResult>(
  deps: InterruptDeps,
  target: HistoryTarget,
  act: (target: HistoryTarget) => Promise<R>,
): Promise<R | Refused | Failed | StillRunning> {
  const { owner, session, expectedHead } = target;
  const snapshot = await deps.log.store.reads.snapshot(owner, session, { limit: 1 });
  if (snapshot === null) return noSession;
  if (snapshot.run === null) return act(target);
  if (hasNewerEntry(snapshot, expectedHead)) return headMoved(snapshot.session);
  // The run itself moves the head with every word, which is no reason to refuse what would end it.
  const anyHead = { ...target, expectedHead: undefined };
  const first = await act(anyHead);
  if (!isRefused(first, "run_live")) return first;

  const lease = await blockNewRuns(deps, target);
  if ("status" in lease) return lease;
  try {
    return (await endLiveRun(deps, target)) ?? (await act(anyHead));
  } finally {
    await deps.log.store.leases.release(lease);
    // What waits was held back until now.
    deps.runner.notify(owner, session);
  }
}

function isRefused(answer: StatusResult, code: string): boolean {
  return answer.status === "refused" && "code" in answer && answer.code === code;
}

function hasNewerEntry({ entries }: Snapshot, expectedHead: Seq | undefined): boolean {
  const newest = entries.entries.at(-1);
  return expectedHead !== undefined && newest !== undefined && newest.seq > expectedHead;
}

/** Nothing new is claimed while this is held; it runs out by itself if we do not come back. */
async function blockNewRuns(
  { log, holder, timeoutMs: patienceMs = defaultTimeoutMs }: InterruptDeps,
  { session }: HistoryTarget,
): Promise<LeaseRow | Refused | Failed> {
  const ttlMs = patienceMs + 5_000;
  const result = await log.store.leases.acquire({
    kind: "history",
    session,
    holder: holder(),
    ttlMs,
  });
  switch (result.status) {
    case "acquired":
      return result.lease;
    case "held":
      return {
        status: "refused",
        code: "history_live",
        message: "Somebody else is cutting this conversation.",
      };
    case "refused":
      return noSession;
    case "failed":
      return result;
  }
}

async function endLiveRun(
  deps: InterruptDeps,
  { owner, session }: HistoryTarget,
): Promise<Refused | Failed | StillRunning | undefined> {
  const { log, ids } = deps;
  const row = await log.store.reads.session(owner, session);
  if (row?.liveRun == null) return undefined;
  const asked = await requestCancel(log, ids, owner, row.liveRun);
  if (asked.status === "refused" || asked.status === "failed") return asked;
  deps.runner.notify(owner, session);
  return (await waitForEnd(deps, { owner, session }, row.liveRun)) ? undefined : stillRunning;
}

const pollMs = 250;

async function waitForEnd(
  { log, clock, timeoutMs: patienceMs = defaultTimeoutMs }: InterruptDeps,
  { owner, session }: HistoryTarget,
  runId: RunId,
): Promise<boolean> {
  const deadline = clock.now() + patienceMs;
  let woken = new AbortController();
  const unwatch = log.store.watch(session, "live", () => woken.abort());
  try {
    for (;;) {
      woken = new AbortController();
      const run = await log.store.reads.run(owner, runId);
      if (run === null || terminalStates.has(run.state)) return true;
      if (clock.now() >= deadline) return false;
      await clock.sleep(pollMs, woken.signal);
    }
  } finally {
    unwatch();
  }
}

const stillRunning: StillRunning = {
  status: "refused",
  code: "cancel_pending",
  message: "The run was asked to end and has not ended yet. Nothing was cut.",
};
