import type { Fence, SessionId } from "@holdfast/protocol";
import type { Failed } from "./commit.ts";
import type { Holder, LeaseKind, LeaseRow } from "./rows.ts";

export interface LeaseRequest {
  readonly kind: LeaseKind;
  readonly session: SessionId;
  readonly holder: Holder;
  readonly ttlMs: number;
  /**
   * Replace a holder that is proven dead although its lease has not expired. Names the fence that the
   * proof is about, so that a lease taken meanwhile by someone else is left alone.
   */
  readonly replacing?: Fence;
}

export type LeaseResult =
  | { readonly status: "acquired"; readonly lease: LeaseRow }
  | { readonly status: "held"; readonly by: LeaseRow }
  /** Also for a session in the trash: deleting leaves no lease behind. */
  | { readonly status: "refused"; readonly code: "session_not_found" }
  | Failed;

export interface LeaseRef {
  readonly kind: LeaseKind;
  readonly session: SessionId;
  readonly fence: Fence;
}

/** `lost`: the fences that are not held any more. */
export type RenewResult =
  | { readonly status: "renewed"; readonly lost: readonly LeaseRef[] }
  | Failed;

/**
 * Ownership for a time. A lease is held until it is released, replaced or expired, whichever is first; its
 * fence is greater than every fence given for that kind and session before, also across release, trash and restore.
 */
export interface Leases {
  /** By its own holder again: the same fence, a later expiry. */
  acquire(request: LeaseRequest): Promise<LeaseResult>;
  /** One write for all leases of a process. One that ran out and that nobody took is its holder's again. */
  renew(leases: readonly LeaseRef[], ttlMs: number): Promise<RenewResult>;
  /** Does nothing unless this fence holds it. */
  release(lease: LeaseRef): Promise<{ readonly status: "released" | "not_held" } | Failed>;
  /** `null` when nobody holds it or the lease has expired. */
  read(kind: LeaseKind, session: SessionId): Promise<LeaseRow | null>;
  /** Expired leases, oldest first: the work of a sweep. */
  expired(kind: LeaseKind, limit: number): Promise<readonly LeaseRow[]>;
}

/**
 * Whether the holder of a lease still lives, as far as this host can tell. `dead` is a proof: every part of the
 * identity is known and the process that it names is gone. A holder on another host, in another container or
 * with a part that is not known is `unknown`.
 */
export interface Liveness {
  isDead(holder: Holder): "dead" | "alive" | "unknown";
}
