import {
  type IdSource,
  newEvent,
  type OwnerId,
  type Seq,
  type SessionId,
  decodeEvent,
  type EventData,
  mergeTaint,
  backoffMs,
} from "@holdfast/protocol";
import type { Log } from "../log/log.ts";
import { type CommitResult, type Failed } from "../ports/commit.ts";
import { type CountTokens, type Summariser } from "../ports/background-models.ts";
import { type Holder, type SessionRow } from "../ports/rows.ts";
import { StoreFailure } from "../ports/store.ts";
import type { CompactionLock, HeldLock } from "./compaction-lock.ts";
import {
  type CompactionPlan,
  type CompactionSizes,
  isWorthIt,
  planCompaction,
} from "./plan-compaction.ts";
import { type ContextEntries, readContext } from "./session-context.ts";
import { taintOfEntries } from "./taint.ts";
import { isMadeAtRest, writeSummary } from "./write-summary.ts";

export interface CompactionDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly lock: CompactionLock;
  readonly holder: () => Holder;
  readonly summariser: Summariser;
  readonly count: CountTokens;
  /** Counts these texts more exactly, if possible; afterwards `count` knows them. */
  readonly learn?: (texts: readonly string[]) => Promise<void>;
}

/** Who asks. Back-off applies to everybody but a person. */
export type CompactionReason = "asked" | "preflight" | "overflow" | "idle" | "hygiene";

export interface CompactionTarget {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly reason: CompactionReason;
  readonly sizes: CompactionSizes;
  /** The epoch at which the caller found the context too long; by default the one at the time of the call. */
  readonly epoch?: number | undefined;
  readonly focus?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Asked before each summariser call. If `false`, the local summary is used. */
  readonly mayCallModel?: (() => Promise<boolean>) | undefined;
}

/**
 * - `compacted`: the context now starts with the new summary.
 * - `deferred`: somebody else is compacting or was first, or the lock was lost; nothing changed, and that is not a
 * failure.
 * - `refused`: it would not free enough, or it was tried in vain recently, or at rest the summariser failed.
 */
export type Compaction =
  | {
      readonly status: "compacted";
      readonly epoch: number;
      readonly seq: Seq;
      readonly covers: CompactionPlan["covers"];
      readonly freedTokens: number;
    }
  | { readonly status: "deferred"; readonly why: "held" | "newer" | "lost" | "rewound" }
  | { readonly status: "refused"; readonly code: "nothing_to_gain" | "backed_off" | "no_summary" }
  | { readonly status: "refused"; readonly code: "session_not_found" | "session_trashed" }
  | Failed;

/**
 * The only way to compact a session, whoever asks. Messages that arrive while the summary is written stay live after
 * it: the commit names what it covers, and requires its lock, its epoch and that everything covered is still visible.
 */
export async function compactSession(
  deps: CompactionDeps,
  target: CompactionTarget,
): Promise<Compaction> {
  const { owner, session, reason } = target;
  const { reads } = deps.log.store;
  const initial = await reads.session(owner, session);
  if (initial === null) return { status: "refused", code: "session_not_found" };
  if (initial.trashedAt !== null) return { status: "refused", code: "session_trashed" };
  const holder = deps.holder();
  const lock = await deps.lock.acquire(session, holder);
  if (lock === null) return unlessGone(deps, target, { status: "deferred", why: "held" });
  try {
    const row = await reads.session(owner, session);
    const entries = await readContext(reads, owner, session);
    if (row === null || entries === null) return { status: "refused", code: "session_not_found" };
    if (row.trashedAt !== null) return { status: "refused", code: "session_trashed" };
    // The previous lock holder has already done what we came for.
    if (row.epoch !== (target.epoch ?? initial.epoch)) return { status: "deferred", why: "newer" };
    const now = await deps.log.store.now();
    if (reason !== "asked" && backedOffUntil(entries) > now)
      return { status: "refused", code: "backed_off" };
    return await unlessGone(
      deps,
      target,
      await compactUnderLock(deps, target, { lock, row, entries }),
    );
  } finally {
    await deps.lock.release(session, holder).catch(ignoreStoreFailure);
  }
}

/** The compaction holds whether or not its lock could be released: the lock expires by itself. */
function ignoreStoreFailure(error: unknown): void {
  if (!(error instanceof StoreFailure)) throw error;
}

/** A deletion removes the lock as well: whoever lost it that way need not come back. */
async function unlessGone(
  { log }: CompactionDeps,
  { owner, session }: CompactionTarget,
  compaction: Compaction,
): Promise<Compaction> {
  if (compaction.status !== "deferred") return compaction;
  const row = await log.store.reads.session(owner, session);
  if (row === null) return { status: "refused", code: "session_not_found" };
  return row.trashedAt === null ? compaction : { status: "refused", code: "session_trashed" };
}

interface LockedSession {
  readonly lock: HeldLock;
  readonly row: SessionRow;
  readonly entries: ContextEntries;
}

async function compactUnderLock(
  deps: CompactionDeps,
  target: CompactionTarget,
  { lock, row, entries }: LockedSession,
): Promise<Compaction> {
  await deps.learn?.(countedTexts(entries, target.sizes));
  const plan = planCompaction(entries, deps.count, target.sizes);
  const isAtRest = isMadeAtRest(target);
  if (plan === null) {
    // Nobody asked for it and it cost nothing, so a notice would only confuse people.
    if (isAtRest) return { status: "refused", code: "nothing_to_gain" };
    return recordNoGain(deps, target, entries);
  }
  const heartbeat = deps.lock.keep(lock);
  try {
    const signal = AbortSignal.any([heartbeat.lost, ...(target.signal ? [target.signal] : [])]);
    const summary = await writeSummary(deps, target, plan, signal);
    if (signal.aborted) return { status: "deferred", why: "lost" };
    if (summary === null) return { status: "refused", code: "no_summary" };
    const summaryTokens = deps.count(summary);
    if (!isWorthIt(plan, summaryTokens)) return await recordNoGain(deps, target, entries);
    const epoch = row.epoch + 1;
    const result = await deps.log.commit({
      owner: target.owner,
      session: target.session,
      events: [
        newEvent(deps.ids.make("event"), "context.compacted", {
          epoch,
          covers: plan.covers,
          summary,
          ...coveredTaint(entries, plan),
          ...(plan.skills.length > 0 && { skills: [...plan.skills] }),
          ...(entries.frame && { frame: entries.frame }),
        }),
      ],
      under: { lease: "compaction", fence: lock.fence },
      expect: { epoch: row.epoch },
      ...(isAtRest && { touch: "quiet" }),
    });
    const { covers, coveredTokens, skillTokens } = plan;
    const freedTokens = coveredTokens - summaryTokens - skillTokens;
    return outcomeOf(result, { epoch, covers, freedTokens });
  } finally {
    await heartbeat.stop();
  }
}

/** A summary may repeat what a stranger wrote, so it is tainted like what it covers. */
function coveredTaint(
  { epoch, tail }: ContextEntries,
  { covers }: CompactionPlan,
): Pick<EventData<"context.compacted">, "taint"> {
  const covered = tail.filter(({ seq }) => seq <= covers.to);
  const taint = mergeTaint(epoch?.taint ?? [], taintOfEntries(covered));
  return taint.length === 0 ? {} : { taint: [...taint] };
}

/** Every text the plan depends on. */
function countedTexts(entries: ContextEntries, sizes: CompactionSizes): readonly string[] {
  const texts: string[] = [];
  const note: CountTokens = (text) => texts.push(text);
  planCompaction(entries, note, sizes);
  return texts;
}

function outcomeOf(
  result: CommitResult,
  done: Omit<Extract<Compaction, { status: "compacted" }>, "status" | "seq">,
): Compaction {
  if (result.status === "committed") return { status: "compacted", seq: result.last, ...done };
  if (result.status === "failed") return result;
  switch (result.code) {
    case "epoch_moved":
      return { status: "deferred", why: "newer" };
    case "covers_cut":
      return { status: "deferred", why: "rewound" };
    case "session_trashed":
    case "session_not_found":
      return { status: "refused", code: result.code };
    default:
      return { status: "deferred", why: "lost" };
  }
}

/** A person gets an answer; for everybody else the time of the next try is recorded. */
async function recordNoGain(
  { log, ids }: CompactionDeps,
  { owner, session, reason }: CompactionTarget,
  entries: ContextEntries,
): Promise<Compaction> {
  if (reason !== "asked") {
    const notice = newEvent(ids.make("event"), "notice.added", {
      noticeId: ids.make("notice"),
      ...backOffNotice(entries, await log.store.now()),
    });
    const result = await log.commit({ owner, session, events: [notice], touch: "quiet" });
    if (result.status === "failed") return result;
  }
  return { status: "refused", code: "nothing_to_gain" };
}

const futileNoticeKind = "compaction_in_vain";
const futileBackoff = { firstMs: 60_000, longestMs: 60 * 60_000 };

type Notice = Pick<EventData<"notice.added">, "kind" | "text" | "details">;

/** Recorded when a compaction gains nothing. Each failure in a row doubles the wait. */
function backOffNotice(entries: ContextEntries, now: number): Notice {
  const earlierTries = lastFutileTry(entries).tries;
  return {
    kind: futileNoticeKind,
    text: "The conversation could not be made shorter for the model: too little of it can be summarised. Take something out of it, or begin a new one.",
    details: { tries: earlierTries + 1, until: now + backoffMs(futileBackoff, earlierTries) },
  };
}

/** Until when only a person may try again; 0 if there is no back-off. */
function backedOffUntil(entries: ContextEntries): number {
  return lastFutileTry(entries).until;
}

/** A successful compaction resets the count: earlier notices are then below the epoch. */
function lastFutileTry({ tail, epoch }: ContextEntries): { tries: number; until: number } {
  const none = { tries: 0, until: 0 };
  const last = tail.findLast(
    ({ type, data }) => type === "notice.added" && data["kind"] === futileNoticeKind,
  );
  if (last === undefined || last.seq < (epoch?.seq ?? 0)) return none;
  const decoded = decodeEvent(last);
  if (decoded.kind !== "known" || decoded.event.type !== "notice.added") return none;
  const { tries, until } = decoded.event.data.details ?? {};
  return typeof tries === "number" && typeof until === "number" ? { tries, until } : none;
}
