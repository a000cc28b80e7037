import {
  type Compaction,
  type CompactionReason,
  type CompactionTarget,
  compactSession,
  type ContextFit,
  type CountTokens,
  createCompactionLock,
  type Liveness,
  type Log,
  type Summariser,
} from "@holdfast/engine";
import { ids, type OwnerId, type SessionId } from "@holdfast/protocol";
import { currentHolder } from "@holdfast/store/identity";

/** Everything in this process that makes a conversation shorter for its model goes through this one door. */
export interface Compactor extends ContextFit {
  compactNow(
    target: Pick<CompactionTarget, "owner" | "session" | "focus" | "epoch">,
    reason: CompactionReason,
    windowTokens: number,
  ): Promise<Compaction>;
  readonly count: CountTokens;
}

/** What stays as it is. A person who asks for it wants more of it gone than a host that only needs room. */
const tailShares: Readonly<Record<CompactionReason, number>> = {
  asked: 0.1,
  preflight: 0.3,
  overflow: 0.3,
  idle: 0.3,
  hygiene: 0.3,
};
const summaryShare = 0.1;
const maxSummaryTokens = 4_000;

export interface CompactorDeps {
  readonly summariser: Summariser;
  readonly windowOf: ContextFit["windowOf"];
  readonly count: CountTokens;
  readonly learn?: (texts: readonly string[]) => Promise<void>;
}

export function createCompactor(
  log: Log,
  liveness: Liveness,
  { summariser, windowOf, count, learn }: CompactorDeps,
  onCompacted: (owner: OwnerId, session: SessionId) => void = () => {},
): Compactor {
  const deps = {
    log,
    ids,
    lock: createCompactionLock(log.store.leases, { liveness }),
    holder: () => currentHolder("compaction"),
    summariser,
    count,
    ...(learn && { learn }),
  };
  const compactNow: Compactor["compactNow"] = async (target, reason, windowTokens) => {
    const compaction = await compactSession(deps, {
      ...target,
      reason,
      sizes: {
        tailTokens: Math.floor(windowTokens * tailShares[reason]),
        summaryTokens: Math.min(maxSummaryTokens, Math.floor(windowTokens * summaryShare)),
      },
    });
    if (compaction.status === "compacted") onCompacted(target.owner, target.session);
    return compaction;
  };
  return {
    windowOf,
    compact: ({ owner, session }, reason, { windowTokens, epoch }) =>
      compactNow({ owner, session, epoch }, reason, windowTokens),
    compactNow,
    count,
  };
}
