import { type Fence } from "@holdfast/protocol";

import type { Holder, LeaseRow } from "../ports/rows.ts";
import type { LeaseRequest, LeaseResult } from "../ports/lease.ts";

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

/** For people and logs: who, where, and which of several by the same name. */
export function describeHolder({ host, pid, thread, agent, nonce }: Holder): string {
  return `${agent} on ${host}, process ${pid}, thread ${thread} (${nonce})`;
}

/**
 * Who has the lease after a request. `lastFence` is the greatest fence ever given for this kind and session;
 * the stored counter outlives every lease, so a holder that was forgotten can never match again.
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
