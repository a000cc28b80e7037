import type { ApprovalId, OwnerId, Seq, SessionId } from "@holdfast/protocol";

import type { LeaseRow } from "./rows.ts";

export interface WorkItem {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

/** A run that a runner has to work on, with its lease, if any. */
export interface LiveWork extends WorkItem {
  readonly lease: LeaseRow | null;
}

/** A session with something to send, and its head: whoever has seen that need not look again. */
export interface OutboxWork extends WorkItem {
  readonly head: Seq;
}

export interface ExpiredApproval extends WorkItem {
  readonly approval: ApprovalId;
}

/** Open work in the whole store. Idle sessions cost nothing. */
export interface Work {
  /** Sessions with queued input and no live run, oldest input first. */
  queued(limit: number): Promise<readonly WorkItem[]>;
  /**
   * Sessions whose run is claimed or running. A run that waits for an answer or is paused counts only once somebody
   * asked to cancel it. The earliest lease expiry comes first.
   */
  live(limit: number): Promise<readonly LiveWork[]>;
  /** Sessions with a derived title although a run has completed. Each drops out once it has another title. */
  untitled(limit: number): Promise<readonly WorkItem[]>;
  /**
   * Sessions with completed turns that no memory provider has committed, oldest turn first: failed ones once their
   * retry time has come by the store's clock, the others if their newest turn was completed by `restingSince`.
   */
  unremembered(limit: number, restingSince: number): Promise<readonly WorkItem[]>;
  /** Sessions with a chunk that is being sent, or is due, oldest change first. */
  undelivered(limit: number): Promise<readonly OutboxWork[]>;
  /** Open approvals that have expired by the store's clock, oldest first. */
  expiredApprovals(limit: number): Promise<readonly ExpiredApproval[]>;
}
