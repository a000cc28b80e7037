import type {
  Fence,
  MessageId,
  NewEvent,
  OwnerId,
  RunId,
  Seq,
  SessionId,
} from "@holdfast/protocol";

import type { LeaseKind } from "./rows.ts";

/**
 * The one write: check the fence and what the writer expects, append the events with the next numbers,
 * update what is derived from them. All of it happens, or none.
 */
export interface Commit {
  readonly owner: OwnerId;
  readonly session: SessionId;
  /** At least one. Their ids name this commit for good: the same ids again get the first answer again. */
  readonly events: readonly NewEvent[];
  /** Refused as `fenced` unless this very fence holds the lease when the transaction commits. */
  readonly under?: { readonly lease: LeaseKind; readonly fence: Fence };
  readonly expect?: Expectation;
  /** `quiet`: neither last activity nor list order moves (import, repair, late recovery). */
  readonly touch?: "normal" | "quiet";
  /** `tick` may wait up to a tick for others to share its sync (deltas); `now` (default) does not wait. */
  readonly pace?: "now" | "tick";
}

export interface Expectation {
  readonly revision?: number;
  readonly version?: number;
  readonly head?: Seq;
  readonly epoch?: number;
  /** No run is live and nobody compacts. */
  readonly idle?: true;
  /** Nobody compacts; a run may be live. */
  readonly uncompacted?: true;
}

export interface Committed {
  readonly status: "committed";
  readonly first: Seq;
  readonly last: Seq;
  readonly at: number;
  readonly version: number;
  readonly revision: number;
  /** Set when this was found to be committed before: nothing was written now. */
  readonly repeated?: true;
  /** For a commit that carries `input.accepted`: what the first acceptance answered. */
  readonly input?: { readonly messageId: MessageId; readonly runId: RunId; readonly seq: Seq };
}

/** Nothing was written, and the same commit will be refused again until something else changes. */
export interface Refused {
  readonly status: "refused";
  readonly code: RefusalCode;
  readonly message: string;
}

export type RefusalCode =
  | "session_not_found"
  | "session_exists"
  | "session_trashed"
  | "session_not_trashed"
  | "fenced"
  | "revision_conflict"
  | "version_conflict"
  | "head_moved"
  | "epoch_moved"
  | "covers_cut"
  | "run_live"
  | "run_ended"
  | "cancel_requested"
  | "compaction_live"
  | "history_live"
  | "idempotency_conflict"
  | "input_claimed"
  | "message_not_found"
  | "blob_not_found"
  | "inbound_taken"
  | "approval_answered"
  | "deltas_unaccounted"
  | "invalid_event"
  | "payload_too_large";

/**
 * The store could not do it.
 * - `store_busy`: the lock was held for too long. Nothing was written; try again.
 * - `store_full`: there is no room. Nothing was written; try again when there is.
 * - `store_unwritable`: it can be read, and takes no writes. Nothing was written; try again when its disk is mended.
 * - `store_unavailable`: the store cannot be reached or cannot be read. Nothing was written.
 * - `store_unknown`: the commit may or may not stand. Send the same commit again to find out.
 * - `store_closed`: this handle was closed.
 */
export interface Failed {
  readonly status: "failed";
  readonly code: FailureCode;
  readonly message: string;
  /** The store has sent it again itself, in vain: one more try at once would meet the same. */
  readonly triedAgain?: true;
}

export type FailureCode =
  | "store_busy"
  | "store_unwritable"
  | "store_full"
  | "store_unavailable"
  | "store_unknown"
  | "store_closed";

export type CommitResult = Committed | Refused | Failed;
