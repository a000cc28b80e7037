import {
  backoffMs,
  type EventData,
  type EventType,
  type IdSource,
  type NewEvent,
  newEvent,
  type OwnerId,
  type SessionId,
  withTimeout,
} from "@holdfast/protocol";

import { startHeartbeat } from "../run/lease-renewer.ts";
import type { Log } from "../log/log.ts";
import type { Clock } from "../ports/clock.ts";
import type { Holder, LeaseRow } from "../ports/rows.ts";
import type { Liveness } from "../ports/lease.ts";
import type { MemoryAnswer, MemoryHandle, MemoryTurn } from "../ports/memory.ts";
import { memoryNotice, type MemoryWording } from "./memory-notice.ts";
import {
  captureTurns,
  type FailureRecord,
  readFailures,
  allFromPeople,
  type IsFromPerson,
  maxSegmentTurns,
  nextSegment,
  type Segment,
} from "./segment.ts";

export interface SegmentCommitDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly holder: () => Holder;
  /** Without it, a holder counts as alive until its lease expires. */
  readonly liveness?: Liveness;
  readonly leaseMs: number;
  /** How long a provider may take before it counts as failed. */
  readonly providerTimeoutMs: number;
  /** By default every message counts as a person's. */
  readonly isFromPerson?: IsFromPerson;
}

export interface SessionTarget {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

/**
 * - `nothing`: there is nothing to commit, or not yet.
 * - `held`: somebody else is committing it.
 * - `unreachable`: no handle to the segment's owner is available. The work stays.
 */
export type SegmentOutcome = "committed" | "nothing" | "held" | "unreachable" | "failed";

export interface SegmentCommit {
  readonly outcome: SegmentOutcome;
  readonly segment: Segment | null;
  readonly handle?: MemoryHandle | undefined;
}

/**
 * Finds a handle to a segment's owner. `fail` records durably that there is none; `give_up` that a person does not want
 * to wait for one.
 */
export type FindHandle = (
  segment: Segment,
  failures: FailureRecord,
) => Promise<MemoryHandle | undefined | "fail" | "give_up">;

const retryBackoff = { firstMs: 60_000, longestMs: 60 * 60_000 };
const maxMessageLength = 500;

export async function readSegment(
  log: Log,
  { owner, session }: SessionTarget,
): Promise<Segment | null> {
  return nextSegment(session, await log.store.reads.unremembered(owner, session, maxSegmentTurns));
}

/**
 * Commits the oldest segment of a session through a handle of its own owner. The provider is called under the session's
 * memory lease only, so no turn waits for it. Only captured turns are cleared: a turn completed meanwhile is not among
 * them.
 */
export async function commitSegment(
  deps: SegmentCommitDeps,
  target: SessionTarget,
  find: FindHandle,
  stopping: AbortSignal,
): Promise<SegmentCommit> {
  const { log, clock, leaseMs } = deps;
  const askedAt = clock.now();
  const lease = await acquireMemoryLease(deps, target.session);
  if (lease === null) return { outcome: "held", segment: null };
  const { kind, session, fence } = lease;
  const heartbeat = startHeartbeat({
    leases: log.store.leases,
    ref: { kind, session, fence },
    clock,
    ttlMs: leaseMs,
    everyMs: leaseMs / 3,
    safeUntil: askedAt + leaseMs,
  });
  try {
    const signal = AbortSignal.any([heartbeat.lost, stopping]);
    return await commitUnderLease(deps, target, { lease, find, signal });
  } finally {
    await heartbeat.stop();
    await log.store.leases.release(lease);
  }
}

interface LeasedWork {
  readonly lease: LeaseRow;
  readonly find: FindHandle;
  readonly signal: AbortSignal;
}

async function commitUnderLease(
  deps: SegmentCommitDeps,
  target: SessionTarget,
  { lease, find, signal }: LeasedWork,
): Promise<SegmentCommit> {
  const { log, ids } = deps;
  const { owner, session } = target;
  const segment = await readSegment(log, target);
  if (segment === null) return { outcome: "nothing", segment };
  const write = (...events: readonly NewEvent[]) =>
    log.commit({
      ...target,
      events,
      under: { lease: lease.kind, fence: lease.fence },
      // None of this is activity of the person or the model.
      touch: "quiet",
    });
  const event = <T extends EventType>(type: T, data: EventData<T>) =>
    newEvent(ids.make("event"), type, data);
  const { key, upTo } = segment;
  const tries = segment.tries + 1;
  const { reads } = log.store;
  const failures = await readFailures(reads, owner, session, segment, unreachable.code);
  async function fail(
    failure: Extract<MemoryAnswer, { status: "failed" }>,
    notice: readonly NewEvent[] = [],
  ): Promise<"failed"> {
    const { code, message, retryAfterMs = 0 } = failure;
    const retryAt =
      (await log.store.now()) + Math.max(backoffMs(retryBackoff, tries - 1), retryAfterMs);
    const failureFields = { code: code.slice(0, 100), message: message.slice(0, maxMessageLength) };
    const failed = event("memory.failed", { key, upTo, tries, retryAt, ...failureFields });
    await write(failed, ...notice);
    return "failed";
  }
  const end = async (...events: readonly NewEvent[]): Promise<SegmentOutcome> =>
    (await write(...events)).status === "committed" ? "committed" : "failed";
  const notice = (wording: MemoryWording, turns: number): readonly NewEvent[] =>
    memoryNotice(ids, failures.noticeId, { wording, turns, segment });

  const turns = await captureTurns(
    reads,
    owner,
    session,
    segment,
    deps.isFromPerson ?? allFromPeople,
  );
  const clear = () =>
    end(
      event("memory.committed", { key, upTo }),
      ...(failures.noticeId === null ? [] : notice("remembered", turns.length)),
    );
  /** No provider can remember these turns any more: tells the person, and lets newer turns proceed. */
  const giveUp = (wording: MemoryWording) =>
    end(event("memory.committed", { key, upTo, givenUp: true }), ...notice(wording, turns.length));
  // Everything in it was undone: there is nothing to commit.
  if (turns.length === 0) return { outcome: await clear(), segment };
  const handle = await find(segment, failures);
  if (handle === undefined) return { outcome: "unreachable", segment };
  if (handle === "give_up") return { outcome: await giveUp("stopped_waiting"), segment };
  if (handle === "fail") {
    const absentMs = failures.since === null ? 0 : (await log.store.now()) - failures.since;
    if (absentMs >= maxUnreachableMs) return { outcome: await giveUp("not_remembered"), segment };
    const isUntold = absentMs >= tellAfterMs && failures.noticeId === null;
    const told = isUntold ? notice("memory_waiting", turns.length) : [];
    return { outcome: await fail(unreachable, told), segment };
  }
  // P10: before the provider is called, so that a retry after a crash uses the same key.
  const tried = await write(
    event("memory.tried", { key, upTo, tries, owner: { ...segment.owner } }),
  );
  if (tried.status !== "committed") return { outcome: "failed", segment, handle };
  const answer = await callProvider(deps, handle, { ...target, key, turns }, signal);
  // Nobody knows whether the provider has them: the next try uses the same key and need not wait.
  if (answer === "given_up") return { outcome: "failed", segment, handle };
  const outcome = answer.status === "committed" ? await clear() : await fail(answer);
  return { outcome, segment, handle };
}

export const unreachable = {
  status: "failed",
  code: "provider_unreachable",
  message:
    "The provider that has to remember this cannot be reached with the current configuration.",
} as const;

/** After this long, a provider that could not be opened counts as removed from the configuration for good. */
const maxUnreachableMs = 24 * 60 * 60_000;

/** The person is told after this long: by then every host that has the provider has had its chance. */
const tellAfterMs = 10 * 60_000;

const providerLate = {
  status: "failed",
  code: "provider_late",
  message: "The provider did not answer in time.",
} as const;

/** A provider that throws has failed, and so has one that takes too long; it is then abandoned. */
async function callProvider(
  { clock, providerTimeoutMs: ms }: SegmentCommitDeps,
  handle: MemoryHandle,
  batch: SessionTarget & { readonly key: string; readonly turns: readonly MemoryTurn[] },
  signal: AbortSignal,
): Promise<MemoryAnswer | "given_up"> {
  // The drain's deadline passed, or the lease was lost, while the call was being prepared.
  if (signal.aborted) return "given_up";
  try {
    const answer = await withTimeout({ clock, ms, signal }, (stop) => handle.commit(batch, stop));
    if (answer.status === "done") return answer.value;
    return answer.status === "late" ? providerLate : "given_up";
  } catch (error) {
    if (signal.aborted) return "given_up";
    const message = error instanceof Error ? error.message : String(error);
    return { status: "failed", code: "provider_threw", message };
  }
}

async function acquireMemoryLease(
  { log, holder, liveness, leaseMs: ttlMs }: SegmentCommitDeps,
  session: SessionId,
): Promise<LeaseRow | null> {
  const request = { kind: "memory", session, holder: holder(), ttlMs } as const;
  const result = await log.store.leases.acquire(request);
  if (result.status === "acquired") return result.lease;
  if (result.status !== "held" || liveness?.isDead(result.by.holder) !== "dead") return null;
  const replacing = result.by.fence;
  const acquired = await log.store.leases.acquire({ ...request, replacing });
  return acquired.status === "acquired" ? acquired.lease : null;
}
