import type { Fence, SessionId } from "@holdfast/protocol";

import { type Clock, systemClock } from "../ports/clock.ts";
import { type Failed } from "../ports/commit.ts";
import { type Holder } from "../ports/rows.ts";
import { type LeaseRequest, type LeaseResult, type Leases, type Liveness } from "../ports/lease.ts";
import { StoreFailure } from "../ports/store.ts";
import { sameHolder, type Heartbeat, startHeartbeat } from "../log/leases.ts";

export interface CompactionLockOptions {
  /** Five minutes unless set. */
  readonly ttlMs?: number;
  readonly clock?: Clock;
  /** Without it, a holder counts as alive until its lease has run out. */
  readonly liveness?: Liveness;
}

export interface HeldLock {
  readonly session: SessionId;
  /** What the compaction is committed under. */
  readonly fence: Fence;
  /** By our own clock, not the store's: surely ours before this. */
  readonly safeUntil: number;
}

/**
 * One compaction at a time for a session, whoever asks. An empty id stands for "no session": nothing is locked and
 * the store is not asked. When the store cannot answer, each method rejects with a `StoreFailure`.
 */
export interface CompactionLock {
  /** `null`: another one has it, or there is no such session. By its holder again: the same fence, more time. */
  acquire(session: SessionId | "", holder: Holder): Promise<HeldLock | null>;
  /** Only by the holder itself; for anyone else nothing changes. */
  release(session: SessionId | "", holder: Holder): Promise<void>;
  holder(session: SessionId | ""): Promise<Holder | null>;
  /** The lock with more time, or `null` when it was lost. */
  renew(lock: HeldLock): Promise<HeldLock | null>;
  /** Renews until it is stopped or the lock is lost; three times in its life unless said otherwise. */
  keep(lock: HeldLock, everyMs?: number): Heartbeat;
}

const fiveMinutes = 5 * 60 * 1000;

export function createCompactionLock(
  leases: Leases,
  { ttlMs = fiveMinutes, clock = systemClock, liveness }: CompactionLockOptions = {},
): CompactionLock {
  async function ask(session: SessionId, holder: Holder, replacing?: Fence): Promise<LeaseResult> {
    const request: LeaseRequest = { kind: "compaction", session, holder, ttlMs };
    const result = await leases.acquire(replacing ? { ...request, replacing } : request);
    // A holder that is proven dead does not block the session until its time is up.
    const isStale = result.status === "held" && liveness?.isDead(result.by.holder) === "dead";
    return isStale && replacing === undefined ? ask(session, holder, result.by.fence) : result;
  }

  return {
    async acquire(session, holder) {
      if (session === "") return null;
      const askedAt = clock.now();
      const result = await ask(session, holder);
      if (result.status === "failed") throw failureOf(result);
      if (result.status !== "acquired") return null;
      return { session, fence: result.lease.fence, safeUntil: askedAt + ttlMs };
    },

    async release(session, holder) {
      if (session === "") return;
      const lease = await leases.read("compaction", session);
      if (lease === null || !sameHolder(lease.holder, holder)) return;
      const result = await leases.release(lease);
      if (result.status === "failed") throw failureOf(result);
    },

    async holder(session) {
      if (session === "") return null;
      return (await leases.read("compaction", session))?.holder ?? null;
    },

    async renew({ session, fence }) {
      const askedAt = clock.now();
      const result = await leases.renew([{ kind: "compaction", session, fence }], ttlMs);
      if (result.status === "failed") throw failureOf(result);
      return result.lost.length > 0 ? null : { session, fence, safeUntil: askedAt + ttlMs };
    },

    keep({ session, fence, safeUntil }, everyMs = ttlMs / 3) {
      const ref = { kind: "compaction", session, fence } as const;
      return startHeartbeat({ leases, ref, clock, ttlMs, everyMs, safeUntil });
    },
  };
}

function failureOf({ code, message }: Failed): StoreFailure {
  return new StoreFailure(code, message);
}
