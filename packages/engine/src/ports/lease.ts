import type { Fence, SessionId } from "@holdfast/protocol";
import type { Failed } from "./commit.ts";
import type { Holder, LeaseKind, LeaseRow } from "./rows.ts";

export interface LeaseRequest {
  readonly kind: LeaseKind;
  readonly session: SessionId;
  readonly holder: Holder;
  readonly ttlMs: number;
  /**
   * Replaces a holder that is proven dead before its lease expires. Names the fence the proof is about, so that a lease
   * somebody else acquired meanwhile is left alone.
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

/** `lost`: the fences that are no longer held. */
export type RenewResult =
  | { readonly status: "renewed"; readonly lost: readonly LeaseRef[] }
  | Failed;

/**
 * Ownership for a time. A lease is held until it is released, replaced or expired, whichever is first; its fence is
 * greater than every earlier fence for that kind and session, across release, trash and restore.
 */
export interface Leases {
  /** For its current holder: the same fence, a later expiry. */
  acquire(request: LeaseRequest): Promise<LeaseResult>;
  /** One write for all leases of a process. An expired lease that nobody took belongs to its holder again. */
  renew(leases: readonly LeaseRef[], ttlMs: number): Promise<RenewResult>;
  /** Does nothing unless this fence holds it. */
  release(lease: LeaseRef): Promise<{ readonly status: "released" | "not_held" } | Failed>;
  /** `null` if nobody holds it or the lease has expired. */
  read(kind: LeaseKind, session: SessionId): Promise<LeaseRow | null>;
  /** Expired leases, oldest first, for a sweep. */
  expired(kind: LeaseKind, limit: number): Promise<readonly LeaseRow[]>;
}

/**
 * Whether a lease's holder is still alive, as far as this host can tell. `dead` is a proof: every part of the identity
 * is known and the process it names is gone. A holder on another host, in another container or with an unknown part is
 * `unknown`.
 */
export interface Liveness {
  isDead(holder: Holder): "dead" | "alive" | "unknown";
}

/** Names this process as a lease holder, and tells whether other holders are alive. */
export interface ProcessIdentity extends Liveness {
  /** Unique for each call. `agent` says what the lease is for. */
  holder(agent: string): Holder;
}
