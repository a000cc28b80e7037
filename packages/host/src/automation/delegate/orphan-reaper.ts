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
/** Those who rest cost nothing, and what is gone through for them grows with every child that there ever was. */
const fullScanMs = 3_600_000;
const maxChildrenPerScan = 200;

/**
 * Ends children whose parent has ended without them: its host was killed between a cancel and theirs. P6: so a cancel
 * reaches them whatever dies.
 */
export function createOrphanReaper(parts: OrphanReaperDeps) {
  const { clock, log, owner } = parts;
  const { reads, work: toDo } = log.store;
  const stopping = new AbortController();
  const { signal } = stopping;
  let working: Promise<void> = Promise.resolve();

  /** The newest of all that there ever were. */
  async function lookAtAll(): Promise<void> {
    for (const { lane } of await reads.lanes(owner, childLanePrefix, maxChildrenPerScan)) {
      const given = parentCallFromLane(owner, lane);
      if (signal.aborted) return;
      if (given !== null) await cancelIfOrphaned(parts, given);
    }
  }

  /** P12: only those that are worked on, or wait for a person's word. */
  async function lookAtLive(): Promise<void> {
    const { approvals } = await reads.approvals(owner, { limit: maxChildrenPerScan });
    const live = (await toDo.live(maxChildrenPerScan)).filter((each) => each.owner === owner);
    for (const session of new Set([...live, ...approvals].map((each) => each.session))) {
      if (signal.aborted) return;
      const row = await reads.session(owner, session);
      const parent = row !== null && hasChildTag(row) && (await parentOf(reads, owner, session));
      if (parent)
        await cancelIfOrphaned(parts, {
          owner,
          session: parent.sessionId,
          runId: parent.runId,
          callId: parent.callId,
        });
    }
  }

  async function work(): Promise<void> {
    let allAt = clock.now();
    while (!signal.aborted) {
      try {
        if (clock.now() >= allAt) {
          await lookAtAll();
          allAt = clock.now() + fullScanMs;
        }
        await lookAtLive();
      } catch (error) {
        if (!(error instanceof StoreFailure))
          parts.report(error instanceof Error ? error : new Error(String(error)));
      }
      await clock.sleep(parts.pollMs ?? defaultPollMs, signal);
    }
  }

  return {
    lookAtAll,
    lookAtLive,
    start(): void {
      working = work();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await working;
    },
  };
}

async function cancelIfOrphaned(
  { log, ids, owner, runner }: OrphanReaperDeps,
  given: ParentCall,
): Promise<void> {
  const { reads } = log.store;
  const child = childOf(given);
  const run = await reads.run(owner, child.runId);
  if (run === null || run.cancelRequested || terminalStates.has(run.state)) return;
  const parent = await reads.run(owner, given.runId);
  if (parent !== null && !parent.cancelRequested && !terminalStates.has(parent.state)) return;
  await requestCancel(log, ids, owner, child.runId);
  runner.notify(owner, child.session);
}
