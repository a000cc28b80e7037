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
 * The only write: checks the fence and the writer's expectations, appends the events with the next seqs and updates
 * what is derived from them. All of it happens, or none.
 */
export interface Commit {
  readonly owner: OwnerId;
  readonly session: SessionId;
  /** At least one. Their ids identify this commit forever: repeating them returns the first answer. */
  readonly events: readonly NewEvent[];
  /** Refused as `fenced` unless exactly this fence holds the lease when the transaction commits. */
  readonly under?: { readonly lease: LeaseKind; readonly fence: Fence };
  readonly expect?: Expectation;
  /** `quiet`: neither last activity nor list order moves (import, repair, late recovery). */
  readonly touch?: "normal" | "quiet";
  /** `tick` may wait up to a tick to share a sync with others (deltas); `now` (default) does not wait. */
  readonly pace?: "now" | "tick";
  /**
   * One for each event: the events are copied from another store as they were there. The rules were checked when they
   * were first committed, so that only their order and whose rows they change is checked. A gap between two seqs is
   * output that was settled and deleted there.
   */
  readonly copied?: readonly CopiedFrom[];
}

/** What an event had in the store that it is copied from. */
export interface CopiedFrom {
  readonly seq: Seq;
  readonly at: number;
  readonly quiet: boolean;
  /** Its link as stored; without it, the event is linked to the one before it here. */
  readonly link?: string | null;
}

export interface Expectation {
  readonly revision?: number;
  readonly version?: number;
  readonly head?: Seq;
  readonly epoch?: number;
  /** No run is live and nobody is compacting. */
  readonly idle?: true;
  /** Nobody is compacting; a run may be live. */
  readonly uncompacted?: true;
}

export interface Committed {
  readonly status: "committed";
  readonly first: Seq;
  readonly last: Seq;
  readonly at: number;
  readonly version: number;
  readonly revision: number;
  /** Set if this commit was already stored: nothing was written now. */
  readonly repeated?: true;
  /** For a commit with `input.accepted`: the answer to the first acceptance. */
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
 * - `store_full`: there is no space. Nothing was written; try again when there is.
 * - `store_unwritable`: it can be read but not written. Nothing was written; try again when its disk is repaired.
 * - `store_unavailable`: the store cannot be reached or read. Nothing was written.
 * - `store_unknown`: the commit may or may not be stored. Send the same commit again to find out.
 * - `store_closed`: this handle was closed.
 */
export interface Failed {
  readonly status: "failed";
  readonly code: FailureCode;
  readonly message: string;
  /** The store has already retried in vain: another immediate try would fail the same way. */
  readonly triedAgain?: true;
}

export type FailureCode =
  | "store_busy"
  | "store_unwritable"
  | "store_full"
  | "store_unavailable"
  | "store_unknown"
  | "store_closed"
  /** A blob whose bytes are lost or damaged where they are kept. */
  | "blob_unreadable";

export type CommitResult = Committed | Refused | Failed;
