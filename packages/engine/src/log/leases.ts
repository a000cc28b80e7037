import { type Fence, withTimeout } from "@holdfast/protocol";
import type { Holder, LeaseRow } from "../ports/rows.ts";
import type { LeaseRequest, LeaseResult, LeaseRef, Leases } from "../ports/lease.ts";
import type { Clock } from "../ports/clock.ts";

export function sameHolder(a: Holder, b: Holder): boolean {
  return (
    a.nonce === b.nonce &&
    a.host === b.host &&
    a.pid === b.pid &&
    a.thread === b.thread &&
    a.agent === b.agent &&
    a.boot === b.boot
  );
}

/** For people and logs: who, where, and which of several with the same name. */
export function describeHolder({ host, pid, thread, agent, nonce }: Holder): string {
  return `${agent} on ${host}, process ${pid}, thread ${thread} (${nonce})`;
}

/**
 * Decides who holds the lease after a request. `lastFence` is the greatest fence ever issued for this kind and session;
 * the stored counter outlives every lease, so a forgotten holder can never match again.
 */
export function decideLease(
  current: LeaseRow | null,
  lastFence: number,
  request: LeaseRequest,
  now: number,
): Extract<LeaseResult, { status: "acquired" | "held" }> {
  const { kind, session, holder, ttlMs, replacing } = request;
  const expiresAt = now + ttlMs;
  if (current !== null && sameHolder(current.holder, holder)) {
    return {
      status: "acquired",
      lease: { ...current, expiresAt: Math.max(current.expiresAt, expiresAt) },
    };
  }
  const free = current === null || current.expiresAt <= now || current.fence === replacing;
  if (!free) return { status: "held", by: current };
  return {
    status: "acquired",
    lease: { kind, session, fence: (lastFence + 1) as Fence, holder, expiresAt },
  };
}

export interface Heartbeat {
  /** Aborted when the lease is lost, or can no longer be proven ours: work under it must stop. */
  readonly lost: AbortSignal;
  /** Ends the heartbeat without releasing the lease. */
  stop(): Promise<void>;
}

interface HeartbeatDeps {
  readonly leases: Leases;
  readonly ref: LeaseRef;
  readonly clock: Clock;
  readonly ttlMs: number;
  readonly everyMs: number;
  /** Until then it is ours by our own clock, counted from before the store was asked. */
  readonly safeUntil: number;
}

/**
 * Renews a lease while its holder works. A renewal that fails or hangs is retried until the last good one has expired
 * by our own clock; then the lease counts as lost, since somebody else may hold it.
 */
export function startHeartbeat(deps: HeartbeatDeps): Heartbeat {
  const lost = new AbortController();
  const stopping = new AbortController();
  const heartbeat = renewUntilStopped(deps, lost, stopping.signal);
  return {
    lost: lost.signal,
    async stop() {
      stopping.abort();
      await heartbeat;
    },
  };
}

async function renewUntilStopped(
  { leases, ref, clock, ttlMs, everyMs, safeUntil: initialSafeUntil }: HeartbeatDeps,
  lost: AbortController,
  stopping: AbortSignal,
): Promise<void> {
  let safeUntil = initialSafeUntil;
  let pause = everyMs;
  for (;;) {
    await clock.sleep(Math.min(pause, safeUntil - clock.now()), stopping);
    if (stopping.aborted) return;
    const askedAt = clock.now();
    if (askedAt >= safeUntil) return lost.abort();
    const answer = await withTimeout(
      { clock, ms: safeUntil - askedAt, signal: stopping },
      // An exception is no answer either: the expiry of the last good renewal decides.
      () => leases.renew([ref], ttlMs).catch(() => undefined),
    );
    if (stopping.aborted) return;
    if (answer.status === "done" && answer.value?.status === "renewed") {
      if (answer.value.lost.length > 0) return lost.abort();
      safeUntil = askedAt + ttlMs;
      pause = everyMs;
    } else {
      if (clock.now() >= safeUntil) return lost.abort();
      pause = everyMs / 3;
    }
  }
}
