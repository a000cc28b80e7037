import {
  type Compaction,
  type CompactionReason,
  type CompactionTarget,
  compactSession,
  type ContextFit,
  createCompactionLock,
  type Liveness,
  type Log,
  type Summariser,
} from "@holdfast/engine";
import { ids } from "@holdfast/protocol";
import { currentHolder } from "@holdfast/store/identity";

import { windowOf } from "./windows.ts";

/** Everything in this process that makes a conversation shorter for its model goes through this one door. */
export interface Compactor extends ContextFit {
  compactNow(
    target: Pick<CompactionTarget, "owner" | "session" | "focus" | "epoch">,
    reason: CompactionReason,
    windowTokens: number,
  ): Promise<Compaction>;
}

const tailShare = 0.3;
const summaryShare = 0.1;
const longestSummary = 4_000;
const charactersPerToken = 4;

export function openCompactor(log: Log, liveness: Liveness, summariser: Summariser): Compactor {
  const deps = {
    log,
    ids,
    lock: createCompactionLock(log.store.leases, { liveness }),
    holder: () => currentHolder("compaction"),
    summariser,
    count: (text: string) => Math.ceil(text.length / charactersPerToken),
  };
  const compactNow: Compactor["compactNow"] = (target, reason, windowTokens) =>
    compactSession(deps, {
      ...target,
      reason,
      sizes: {
        tailTokens: Math.floor(windowTokens * tailShare),
        summaryTokens: Math.min(longestSummary, Math.floor(windowTokens * summaryShare)),
      },
    });
  return {
    windowOf,
    compact: ({ owner, session }, reason, { windowTokens, epoch }) =>
      compactNow({ owner, session, epoch }, reason, windowTokens),
    compactNow,
  };
}
