import type { LeaseRef, LeaseRequest, LeaseResult, RenewResult } from "@holdfast/engine";
import { decideLease } from "@holdfast/engine/log";

import type { Connection } from "../connection.ts";
import { leaseTable } from "../rows/tables.ts";
import type { CachedSession, SessionCache } from "./session-cache.ts";

export function acquireLease(
  connection: Connection,
  cache: SessionCache,
  request: LeaseRequest,
  now: number,
): LeaseResult {
  const session = cache.get(connection, request.session);
  if (session === null || session.row.trashedAt !== null)
    return { status: "refused", code: "session_not_found" };
  const current = session.leases.find((lease) => lease.kind === request.kind) ?? null;
  const lastFence = connection
    .sql("SELECT fence FROM fences WHERE session_key = ? AND kind = ?")
    .get(session.key, request.kind);
  const decision = decideLease(current, Number(lastFence?.["fence"] ?? 0), request, now);
  if (decision.status === "held") return decision;
  const { lease } = decision;
  leaseTable.put(connection, lease, session.key);
  if (lease.fence !== current?.fence) {
    connection
      .sql("INSERT INTO fences VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET fence = excluded.fence")
      .run(session.key, lease.kind, lease.fence);
  }
  cache.set({ ...session, leases: [...otherLeases(session, request), lease] });
  return decision;
}

/** Also renews an expired lease that nobody took over: its fence is still the greatest. */
export function renewLeases(
  connection: Connection,
  cache: SessionCache,
  leases: readonly LeaseRef[],
  expiresAt: number,
): Extract<RenewResult, { status: "renewed" }> {
  const lost: LeaseRef[] = [];
  for (const ref of leases) {
    const session = cache.get(connection, ref.session);
    const lease = session?.leases.find(
      ({ kind, fence }) => kind === ref.kind && fence === ref.fence,
    );
    if (session === null || lease === undefined) {
      lost.push({ kind: ref.kind, session: ref.session, fence: ref.fence });
      continue;
    }
    const renewed = { ...lease, expiresAt: Math.max(lease.expiresAt, expiresAt) };
    leaseTable.put(connection, renewed, session.key);
    cache.set({ ...session, leases: [...otherLeases(session, ref), renewed] });
  }
  return { status: "renewed", lost };
}

export function releaseLease(
  connection: Connection,
  cache: SessionCache,
  ref: LeaseRef,
): { status: "released" | "not_held" } {
  const session = cache.get(connection, ref.session);
  const held = session?.leases.some(
    (lease) => lease.kind === ref.kind && lease.fence === ref.fence,
  );
  if (session === null || held !== true) return { status: "not_held" };
  connection
    .sql("DELETE FROM leases WHERE session_key = ? AND kind = ?")
    .run(session.key, ref.kind);
  cache.set({ ...session, leases: otherLeases(session, ref) });
  return { status: "released" };
}

function otherLeases(session: CachedSession, ref: Pick<LeaseRef, "kind">) {
  return session.leases.filter((lease) => lease.kind !== ref.kind);
}
