import {
  decideLease,
  type LeaseRef,
  type LeaseRequest,
  type LeaseResult,
  type Leases,
  type RenewResult,
} from "@holdfast/engine";

import { createJob, type PendingJob } from "./jobs.ts";
import type { WorkingCopy } from "./working-copy.ts";

export function acquireJob(request: LeaseRequest): PendingJob<LeaseResult> {
  const { kind, session } = request;
  return createJob<LeaseResult>({
    needs: { sessions: [session] },
    decide: (copy) => {
      const stored = copy.session(session);
      if (stored === null || stored.row.trashedAt !== null) {
        return { status: "refused", code: "session_not_found" };
      }
      const lastFence = copy.lastFence(kind, session);
      const decided = decideLease(copy.lease(kind, session), lastFence, request, copy.now);
      if (decided.status === "acquired") copy.setLease(decided.lease);
      return decided;
    },
    failed: (failure) => failure,
  });
}

export function renewJob(refs: readonly LeaseRef[], ttlMs: number): PendingJob<RenewResult> {
  return createJob<RenewResult>({
    needs: { sessions: refs.map((ref) => ref.session) },
    decide: (copy) => {
      const until = copy.now + ttlMs;
      const lost: LeaseRef[] = [];
      for (const ref of refs) {
        const lease = heldLease(copy, ref);
        if (lease === undefined) lost.push(ref);
        else copy.setLease({ ...lease, expiresAt: Math.max(lease.expiresAt, until) });
      }
      return { status: "renewed", lost };
    },
    failed: (failure) => failure,
  });
}

type Released = Awaited<ReturnType<Leases["release"]>>;

export function releaseJob(ref: LeaseRef): PendingJob<Released> {
  return createJob<Released>({
    needs: { sessions: [ref.session] },
    decide: (copy, doubtful) => {
      if (heldLease(copy, ref) === undefined) return doubtful ?? { status: "not_held" };
      copy.dropLease(ref.kind, ref.session);
      return { status: "released" };
    },
    failed: (failure) => failure,
  });
}

// P3: whoever's fence stands in the row holds it, also past the expiry, until another has taken it.
function heldLease(copy: WorkingCopy, { kind, session, fence }: LeaseRef) {
  const lease = copy.lease(kind, session);
  return lease?.fence === fence ? lease : undefined;
}
