import type { IdSource, OwnerId, SessionId } from "@holdfast/protocol";
import type { Log } from "../log/log.ts";
import type { CountTokens, Summariser } from "../ports/background-models.ts";
import { identityOf } from "../ports/store.ts";
import type { ContextFit } from "../run/run-context.ts";
import {
  type Compaction,
  type CompactionReason,
  type CompactionTarget,
  compactSession,
} from "./compact.ts";
import { createCompactionLock } from "./compaction-lock.ts";

/** Every compaction in this process goes through here. */
export interface Compactor extends ContextFit {
  compactNow(
    target: Pick<CompactionTarget, "owner" | "session" | "focus" | "epoch">,
    reason: CompactionReason,
    windowTokens: number,
  ): Promise<Compaction>;
  readonly count: CountTokens;
}

/**
 * The share that is kept verbatim. A person who asks for compaction wants more of it gone than a host that only needs
 * room.
 */
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
  /** By default a summary is made of the messages themselves, without a model. */
  readonly summariser?: Summariser;
  /** By default unknown: a context is compacted only after a model said that it is too long. */
  readonly windowOf?: ContextFit["windowOf"];
  /** By default four characters are a token. */
  readonly count?: CountTokens;
  readonly learn?: (texts: readonly string[]) => Promise<void>;
}

const noSummariser: Summariser = {
  summarise: async () => ({ status: "failed", code: "no_model", message: "No model is set." }),
};

export function createCompactor(
  log: Log,
  ids: IdSource,
  {
    summariser = noSummariser,
    windowOf = () => null,
    count = estimateTokens,
    learn,
  }: CompactorDeps,
  onCompacted: (owner: OwnerId, session: SessionId) => void = () => {},
): Compactor {
  const identity = identityOf(log.store);
  const deps = {
    log,
    ids,
    lock: createCompactionLock(log.store.leases, { liveness: identity }),
    holder: () => identity.holder("compaction"),
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

function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4);
}
