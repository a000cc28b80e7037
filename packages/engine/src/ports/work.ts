import type { ApprovalId, OwnerId, Seq, SessionId } from "@holdfast/protocol";

import type { LeaseRow } from "./rows.ts";

export interface WorkItem {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

/** A run that is a runner's to work on, with the lease that it is held under, if there is one. */
export interface LiveWork extends WorkItem {
  readonly lease: LeaseRow | null;
}

/** A session with something to send, and how far its log goes: who has seen all of that need not look again. */
export interface OutboxWork extends WorkItem {
  readonly head: Seq;
}

export interface ExpiredApproval extends WorkItem {
  readonly approval: ApprovalId;
}

/** What there is to do in the whole store, for whoever looks after it. Costs nothing of the sessions that rest. */
export interface Work {
  /** Sessions with input that waits and no run that is live, oldest input first. */
  queued(limit: number): Promise<readonly WorkItem[]>;
  /**
   * Sessions whose run is claimed or running. One that waits for an answer or is paused is nobody's work until somebody
   * has asked for its end. Those whose lease ends first, or has ended, come first.
   */
  live(limit: number): Promise<readonly LiveWork[]>;
  /** Sessions whose title is still derived though a run has completed. Each leaves when it is titled otherwise. */
  untitled(limit: number): Promise<readonly WorkItem[]>;
  /**
   * Sessions with completed turns that no memory provider has committed, oldest turn first: those that have failed when
   * their time has come by the store's clock, the others when their newest turn was completed by `restingSince`.
   */
  unremembered(limit: number, restingSince: number): Promise<readonly WorkItem[]>;
  /** Sessions with a chunk that is being sent, or is to be sent and whose time has come, the oldest change first. */
  undelivered(limit: number): Promise<readonly OutboxWork[]>;
  /** Open approvals whose time is over by the store's clock, oldest first. */
  expiredApprovals(limit: number): Promise<readonly ExpiredApproval[]>;
}
