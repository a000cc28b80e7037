import { type Clock, type Log, requestCancel, type Runner, StoreFailure } from "@holdfast/engine";
import { type IdSource, type OwnerId, terminalStates } from "@holdfast/protocol";

import {
  childOf,
  childLanePrefix,
  type ParentCall,
  hasChildTag,
  parentOf,
  parentCallFromLane,
} from "./child-session.ts";

export interface OrphanReaperDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly owner: OwnerId;
  readonly runner: Pick<Runner, "notify">;
  readonly report: (bug: Error) => void;
  readonly pollMs?: number;
}

const defaultPollMs = 10_000;
/** Idle orphans cost nothing, and a full scan grows with every child there ever was. */
const fullScanMs = 3_600_000;
const maxChildrenPerScan = 200;

/**
 * Cancels children whose parent ended without them, because its host was killed between cancelling it and them.
 * P6: a cancel reaches them whatever dies.
 */
export function createOrphanReaper(deps: OrphanReaperDeps) {
  const { clock, log, owner } = deps;
  const { reads, work } = log.store;
  const stopping = new AbortController();
  const { signal } = stopping;
  let working: Promise<void> = Promise.resolve();

  /** Checks the newest children, whatever their state. */
  async function checkAll(): Promise<void> {
    for (const { lane } of await reads.lanes(owner, childLanePrefix, maxChildrenPerScan)) {
      const call = parentCallFromLane(owner, lane);
      if (signal.aborted) return;
      if (call !== null) await cancelIfOrphaned(deps, call);
    }
  }

  /** P12: checks only children that are running or wait for an approval. */
  async function checkLive(): Promise<void> {
    const { approvals } = await reads.approvals(owner, { limit: maxChildrenPerScan });
    const live = (await work.live(maxChildrenPerScan)).filter((item) => item.owner === owner);
    for (const session of new Set([...live, ...approvals].map((item) => item.session))) {
      if (signal.aborted) return;
      const row = await reads.session(owner, session);
      const parent = row !== null && hasChildTag(row) && (await parentOf(reads, owner, session));
      if (parent)
        await cancelIfOrphaned(deps, {
          owner,
          session: parent.sessionId,
          runId: parent.runId,
          callId: parent.callId,
        });
    }
  }

  async function loop(): Promise<void> {
    let nextFullScanAt = clock.now();
    while (!signal.aborted) {
      try {
        if (clock.now() >= nextFullScanAt) {
          await checkAll();
          nextFullScanAt = clock.now() + fullScanMs;
        }
        await checkLive();
      } catch (error) {
        if (!(error instanceof StoreFailure))
          deps.report(error instanceof Error ? error : new Error(String(error)));
      }
      await clock.sleep(deps.pollMs ?? defaultPollMs, signal);
    }
  }

  return {
    checkAll,
    checkLive,
    start(): void {
      working = loop();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await working;
    },
  };
}

async function cancelIfOrphaned(
  { log, ids, owner, runner }: OrphanReaperDeps,
  call: ParentCall,
): Promise<void> {
  const { reads } = log.store;
  const child = childOf(call);
  const run = await reads.run(owner, child.runId);
  if (run === null || run.cancelRequested || terminalStates.has(run.state)) return;
  const parent = await reads.run(owner, call.runId);
  if (parent !== null && !parent.cancelRequested && !terminalStates.has(parent.state)) return;
  await requestCancel(log, ids, owner, child.runId);
  runner.notify(owner, child.session);
}
