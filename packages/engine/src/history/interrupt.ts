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
  /** The runner in this process reacts sooner when notified; others poll. */
  readonly runner: Pick<Runner, "notify">;
  /** How long a run may take to end before the person is told that it has not. */
  readonly timeoutMs?: number;
}

/** The run was durably asked to end, but has not ended in the time a person waits. */
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
 * Runs a command, first ending a run that is in its way: the run is cancelled, its end awaited, then the command runs.
 * Meanwhile nothing new is claimed, so a queued message runs after the cut and not into it. A command that could not
 * succeed anyway interrupts nothing.
 */
export async function interruptThen<R extends StatusResult>(
  deps: InterruptDeps,
  target: HistoryTarget,
  command: (target: HistoryTarget) => Promise<R>,
): Promise<R | Refused | Failed | StillRunning> {
  const { owner, session, expectedHead } = target;
  const snapshot = await deps.log.store.reads.snapshot(owner, session, { limit: 1 });
  if (snapshot === null) return noSession;
  if (snapshot.run === null) return command(target);
  if (hasNewerEntry(snapshot, expectedHead)) return headMoved(snapshot.session);
  // The run itself moves the head with every delta, which is no reason to refuse the command that ends it.
  const anyHead = { ...target, expectedHead: undefined };
  const first = await command(anyHead);
  if (!isRefused(first, "run_live")) return first;

  const lease = await blockNewRuns(deps, target);
  if ("status" in lease) return lease;
  try {
    return (await endLiveRun(deps, target)) ?? (await command(anyHead));
  } finally {
    await deps.log.store.leases.release(lease);
    // Queued messages were held back until now.
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

/** Nothing new is claimed while this lease is held; it expires by itself if we die. */
async function blockNewRuns(
  { log, holder, timeoutMs = defaultTimeoutMs }: InterruptDeps,
  { owner, session }: HistoryTarget,
): Promise<LeaseRow | Refused | Failed> {
  const ttlMs = timeoutMs + 5_000;
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
      return (await log.store.reads.session(owner, session)) === null ? noSession : inTrash;
    case "failed":
      return result;
  }
}

/** A lease is also refused for a session in the trash. */
const inTrash: Refused = {
  status: "refused",
  code: "session_trashed",
  message: "The session is in the trash.",
};

async function endLiveRun(
  deps: InterruptDeps,
  { owner, session }: HistoryTarget,
): Promise<Refused | Failed | StillRunning | undefined> {
  const { log, ids } = deps;
  const row = await log.store.reads.session(owner, session);
  if (row?.liveRun == null) return undefined;
  const cancelled = await requestCancel(log, ids, owner, row.liveRun);
  if (cancelled.status === "refused" || cancelled.status === "failed") return cancelled;
  deps.runner.notify(owner, session);
  return (await waitForEnd(deps, { owner, session }, row.liveRun)) ? undefined : stillRunning;
}

const pollMs = 250;

async function waitForEnd(
  { log, clock, timeoutMs = defaultTimeoutMs }: InterruptDeps,
  { owner, session }: HistoryTarget,
  runId: RunId,
): Promise<boolean> {
  const deadline = clock.now() + timeoutMs;
  let changed = new AbortController();
  const unwatch = log.store.watch(session, "live", () => changed.abort());
  try {
    for (;;) {
      changed = new AbortController();
      const run = await log.store.reads.run(owner, runId);
      if (run === null || terminalStates.has(run.state)) return true;
      if (clock.now() >= deadline) return false;
      await clock.sleep(pollMs, changed.signal);
    }
  } finally {
    unwatch();
  }
}

const stillRunning: StillRunning = {
  status: "refused",
  code: "cancel_pending",
  message: "The run is being cancelled. Nothing was cut.",
};
