import type { Clock } from "../ports/clock.ts";
import type { LeaseRef, Leases } from "../ports/lease.ts";

export interface Heartbeat {
  /** Aborted when the lease is lost, or can no longer be proven to be ours: whoever works under it stops. */
  readonly lost: AbortSignal;
  /** Ends the heartbeat. The lease itself is not released by it. */
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
 * Renews a lease while its holder works. A renewal that fails or hangs is tried again until the time of the last good
 * one has run out by our own clock; then the lease counts as lost, since another may have it.
 */
export function startHeartbeat(kept: HeartbeatDeps): Heartbeat {
  const lost = new AbortController();
  const stopping = new AbortController();
  const beating = renewUntilStopped(kept, lost, stopping.signal);
  return {
    lost: lost.signal,
    async stop() {
      stopping.abort();
      await beating;
    },
  };
}

async function renewUntilStopped(
  { leases, ref, clock, ttlMs, everyMs, safeUntil: given }: HeartbeatDeps,
  lost: AbortController,
  stopping: AbortSignal,
): Promise<void> {
  let safeUntil = given;
  let pause = everyMs;
  for (;;) {
    await clock.sleep(Math.min(pause, safeUntil - clock.now()), stopping);
    if (stopping.aborted) return;
    const askedAt = clock.now();
    if (askedAt >= safeUntil) return lost.abort();
    const answered = new AbortController();
    const answer = await Promise.race([
      // What is thrown is no answer either: the time of the last good one decides.
      leases.renew([ref], ttlMs).catch(() => undefined),
      clock.sleep(safeUntil - askedAt, AbortSignal.any([answered.signal, stopping])),
    ]);
    answered.abort();
    if (stopping.aborted) return;
    if (answer?.status === "renewed") {
      if (answer.lost.length > 0) return lost.abort();
      safeUntil = askedAt + ttlMs;
      pause = everyMs;
    } else {
      if (clock.now() >= safeUntil) return lost.abort();
      pause = everyMs / 3;
    }
  }
}
