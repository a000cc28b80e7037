import {
  type Clock,
  type Heartbeat,
  type Holder,
  type LeaseRow,
  type Liveness,
  type Log,
  startHeartbeat,
} from "@holdfast/engine";
import type { SessionId } from "@holdfast/protocol";

export interface OutboxLeaseDeps {
  readonly log: Log;
  readonly clock: Clock;
  readonly holder: () => Holder;
  readonly liveness: Liveness;
  readonly leaseMs: number;
}

export interface OutboxLease {
  readonly lease: LeaseRow;
  readonly heartbeat: Heartbeat;
}

/** P11: two hosts never send for one session at once. `null`: somebody else does, or the session is gone. */
export async function acquireOutboxLease(
  deps: OutboxLeaseDeps,
  session: SessionId,
): Promise<OutboxLease | null> {
  const { log, clock, leaseMs: ttlMs, liveness } = deps;
  const { leases } = log.store;
  const askedAt = clock.now();
  const request = { kind: "outbox", session, holder: deps.holder(), ttlMs } as const;
  let result = await leases.acquire(request);
  if (result.status === "held" && liveness.isDead(result.by.holder) === "dead")
    result = await leases.acquire({ ...request, replacing: result.by.fence });
  if (result.status !== "acquired") return null;
  const { lease } = result;
  const heartbeat = startHeartbeat({
    leases,
    ref: { kind: "outbox", session, fence: lease.fence },
    clock,
    ttlMs,
    everyMs: ttlMs / 3,
    safeUntil: askedAt + ttlMs,
  });
  return { lease, heartbeat };
}
