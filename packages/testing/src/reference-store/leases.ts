import { decideLease, type LeaseRef, type LeaseRow, type Leases } from "@holdfast/engine";

import type { ReferenceData } from "./data.ts";

export function createLeases(data: ReferenceData): Leases {
  return {
    async acquire(request) {
      const { kind } = request;
      const session = data.sessions.get(request.session);
      if (session === undefined || session.row.trashedAt !== null) {
        return { status: "refused", code: "session_not_found" };
      }
      const { leases, fences } = session;
      const lastFence = fences.get(kind) ?? 0;
      const decided = decideLease(leases.get(kind) ?? null, lastFence, request, data.clock());
      if (decided.status === "acquired") {
        leases.set(kind, decided.lease);
        fences.set(kind, decided.lease.fence);
      }
      return decided;
    },

    async renew(refs, ttlMs) {
      const newExpiry = data.clock() + ttlMs;
      const lost: LeaseRef[] = [];
      for (const { kind, session, fence } of refs) {
        const lease = heldUnder(data, { kind, session, fence });
        if (lease === undefined) lost.push({ kind, session, fence });
        else {
          const expiresAt = Math.max(lease.expiresAt, newExpiry);
          data.sessions.get(session)?.leases.set(kind, { ...lease, expiresAt });
        }
      }
      return { status: "renewed", lost };
    },

    async release(ref) {
      if (heldUnder(data, ref) === undefined) return { status: "not_held" };
      data.sessions.get(ref.session)?.leases.delete(ref.kind);
      return { status: "released" };
    },

    async read(kind, session) {
      const lease = data.sessions.get(session)?.leases.get(kind);
      return lease !== undefined && lease.expiresAt > data.clock() ? lease : null;
    },

    async expired(kind, limit) {
      const now = data.clock();
      return allLeases(data)
        .filter((lease) => lease.kind === kind && lease.expiresAt <= now)
        .toSorted((a, b) => a.expiresAt - b.expiresAt)
        .slice(0, limit);
    },
  };
}

// P3: the fence in the row holds the lease, even after it has expired, until somebody takes it over.
function heldUnder(data: ReferenceData, { kind, session, fence }: LeaseRef): LeaseRow | undefined {
  const lease = data.sessions.get(session)?.leases.get(kind);
  return lease?.fence === fence ? lease : undefined;
}

export function allLeases(data: ReferenceData): LeaseRow[] {
  return data.sessions
    .values()
    .flatMap((session) => session.leases.values())
    .toArray();
}
