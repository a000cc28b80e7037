import { fence, type SessionId } from "@holdfast/protocol";

import type { Audit } from "../ports/audit.ts";
import type { LeaseRow } from "../ports/rows.ts";
import type { Finding } from "./findings.ts";

/** Longer than any lease is ever taken for. */
const maxLeaseMs = 24 * 60 * 60 * 1000;

export async function* checkLeases(audit: Audit, now: number): AsyncIterable<Finding> {
  for await (const lease of audit.leases()) {
    const message = await leaseProblem(audit, lease, now);
    if (message === undefined) continue;
    const { kind, session } = lease;
    yield { code: "lease_unsound", table: "leases", session, key: `${kind} ${session}`, message };
  }
}

async function leaseProblem(
  audit: Audit,
  lease: LeaseRow,
  now: number,
): Promise<string | undefined> {
  if (!fence.safeParse(lease.fence).success) return `Its fence is ${lease.fence}.`;
  if (lease.expiresAt > now + maxLeaseMs) return "It runs out later than any lease can.";
  const derived = await audit.derived(lease.session);
  if (derived === null) return "Its session does not exist.";
  return derived.session.trashedAt === null ? undefined : "Its session is in the trash.";
}

export async function* checkOrphans(
  audit: Audit,
  isPurged: (session: SessionId) => boolean,
): AsyncIterable<Finding> {
  for await (const { table, key } of audit.orphans()) {
    const session = /ses_[0-9a-z]{26}/.exec(key)?.[0] as SessionId | undefined;
    // The ledger of what was spent outlives the session.
    if (table === "usage" && session !== undefined && isPurged(session)) continue;
    const message = "The row names a session that does not exist.";
    yield { code: "row_orphaned", table, ...(session && { session }), key, message };
  }
}

export async function* checkIntegrity(audit: Audit): AsyncIterable<Finding> {
  for (const [index, message] of (await audit.integrity()).entries()) {
    yield { code: "integrity_failed", table: "store", key: `${index}`, message };
  }
}
