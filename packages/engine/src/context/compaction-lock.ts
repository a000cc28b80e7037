import type { Fence, SessionId } from "@holdfast/protocol";

import { type Clock, systemClock } from "../ports/clock.ts";
import { type Failed } from "../ports/commit.ts";
import { type Holder } from "../ports/rows.ts";
import { type LeaseRequest, type LeaseResult, type Leases, type Liveness } from "../ports/lease.ts";
import { StoreFailure } from "../ports/store.ts";
import { sameHolder } from "../log/decide.ts";
import { type Heartbeat, startHeartbeat } from "../run/lease-renewer.ts";

export interface CompactionLockOptions {
  /** Five minutes by default. */
  readonly ttlMs?: number;
  readonly clock?: Clock;
  /** Without it, a holder counts as alive until its lease expires. */
  readonly liveness?: Liveness;
}

export interface HeldLock {
  readonly session: SessionId;
  /** The fence the compaction commits under. */
  readonly fence: Fence;
  /** By our own clock, not the store's: certainly ours until then. */
  readonly safeUntil: number;
}

/**
 * Allows one compaction at a time per session, whoever asks. An empty id means "no session": nothing is locked and the
 * store is not asked. If the store cannot answer, each method rejects with a `StoreFailure`.
 */
export interface CompactionLock {
  /**
   * `null`: somebody else holds it, or the session does not exist. For the current holder: the same fence, more time.
   */
  acquire(session: SessionId | "", holder: Holder): Promise<HeldLock | null>;
  /** Only for the holder itself; for anybody else it does nothing. */
  release(session: SessionId | "", holder: Holder): Promise<void>;
  holder(session: SessionId | ""): Promise<Holder | null>;
  /** The extended lock, or `null` if it was lost. */
  renew(lock: HeldLock): Promise<HeldLock | null>;
  /** Renews until stopped or lost; by default three times per lifetime. */
  keep(lock: HeldLock, everyMs?: number): Heartbeat;
}

const defaultTtlMs = 5 * 60 * 1000;

export function createCompactionLock(
  leases: Leases,
  { ttlMs = defaultTtlMs, clock = systemClock, liveness }: CompactionLockOptions = {},
): CompactionLock {
  async function ask(session: SessionId, holder: Holder, replacing?: Fence): Promise<LeaseResult> {
    const request: LeaseRequest = { kind: "compaction", session, holder, ttlMs };
    const result = await leases.acquire(replacing ? { ...request, replacing } : request);
    // A holder proven dead does not block the session until its lease expires.
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
