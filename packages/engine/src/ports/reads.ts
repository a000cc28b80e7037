import type {
  ApprovalId,
  BlobId,
  DeliveryId,
  EventId,
  LaneKey,
  OutboxState,
  OwnerId,
  RunId,
  Seq,
  SessionId,
  StoredEvent,
} from "@holdfast/protocol";

import type {
  ApprovalRow,
  InputRow,
  LaneRow,
  MarkRow,
  MemoryTryRow,
  OutboxRow,
  RunRow,
  SessionRow,
} from "./rows.ts";

/** Which part of the list. A purged session is on no shelf. */
export type Shelf = "active" | "archived" | "trash";

export interface ListQuery {
  readonly shelf?: Shelf;
  readonly pinned?: true;
  readonly project?: string;
  readonly tag?: string;
  /** As the session names it. */
  readonly workspace?: string;
  readonly limit: number;
  /** Where the last page ended, exclusive. */
  readonly after?: ListCursor;
}

export interface ListCursor {
  readonly sortAt: number;
  readonly id: SessionId;
}

export interface SessionPage {
  readonly sessions: readonly SessionRow[];
  readonly next: ListCursor | null;
}

/** A page of the list as sent to clients: its sessions as a JSON array, in UTF-8. */
export interface ListedPage {
  readonly json: Uint8Array<ArrayBuffer>;
  readonly next: ListCursor | null;
}

export interface EventQuery {
  /** Exclusive. */
  readonly after: Seq;
  /** Inclusive. */
  readonly upTo?: Seq;
  readonly limit: number;
}

/**
 * Events in the order of their seqs. A missing seq belongs to a delta whose settled entry comes later and names it.
 * `head` is the session's newest seq in the same snapshot.
 */
export interface EventPage {
  readonly events: readonly StoredEvent[];
  readonly head: Seq;
  readonly more: boolean;
}

export interface EntryQuery {
  /** Exclusive; by default from the newest. */
  readonly before?: Seq;
  readonly limit: number;
}

/** Visible entries, oldest first, with what is needed to read the previous page. */
export interface EntryPage {
  readonly entries: readonly StoredEvent[];
  readonly more: boolean;
}

/**
 * An event of a journal. Consecutive deltas of the same text may come joined as one, with the time of the first and the
 * seq and id of the last: a long journal is then transferred and folded at a fraction of the cost.
 */
export interface JournalEvent extends StoredEvent {
  readonly joined?: JoinedDeltas;
}

export interface JoinedDeltas {
  /** The seq of the first one; the others follow without a gap. */
  readonly from: Seq;
  /** For each of them: how long after the first one, and how many characters it has. */
  readonly times: readonly number[];
  readonly lengths: readonly number[];
}

/** One session at one instant. */
export interface Snapshot {
  readonly session: SessionRow;
  readonly entries: EntryPage;
  readonly run: RunRow | null;
  readonly inbox: readonly InputRow[];
  /** The live run's passing events since its running step started, for the reader to fold. */
  readonly journal: readonly JournalEvent[];
}

export interface UsageTotals {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly costMicros: number;
  readonly calls: number;
}

export interface UsageQuery {
  readonly session?: SessionId;
  readonly runId?: RunId;
  readonly since?: number;
  /** What was spent under this rights profile, also where others applied too. */
  readonly profile?: string;
}

/**
 * Whose work is added up, with everything that was delegated from it: sessions whose lane is
 * `<childLanes><session id>:<run id>:<client id>`, and theirs.
 */
export type WorkQuery = { readonly childLanes: string; readonly since?: number } & (
  | { readonly session: SessionId }
  /**
   * Runs whose message has a client id that begins so, and those that continued them. What was spent beside runs
   * counts in the sessions that they began.
   */
  | { readonly clientPrefix: string }
);

/** What was used by one model, session or sender, or on one day. */
export interface UsageGroup extends UsageTotals {
  /** The model, the session's id, the sender's name, or the day's position in the query. */
  readonly key: string;
  /** Input tokens, cached or not: providers differ in whether `input` includes cached ones. */
  readonly sent: number;
}

/** From `from` up to, but not including, `to`. */
export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

export type UsageGroupQuery =
  | { readonly by: "day"; readonly days: readonly TimeSpan[] }
  | { readonly by: "model" | "session"; readonly within: TimeSpan; readonly limit: number }
  /** Messages whose client ids begin with `prefix`, grouped by what follows it up to the next colon. */
  | {
      readonly by: "client";
      readonly prefix: string;
      readonly within: TimeSpan;
      readonly limit: number;
    };

export interface Blob {
  readonly id: BlobId;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

export interface ApprovalQuery {
  readonly session?: SessionId;
  readonly limit: number;
  /** Where the last page ended, exclusive. */
  readonly after?: ApprovalCursor;
}

export interface ApprovalCursor {
  readonly askedAt: number;
  readonly id: ApprovalId;
}

export interface ApprovalPage {
  readonly approvals: readonly ApprovalRow[];
  readonly next: ApprovalCursor | null;
}

export interface AnsweredQuery {
  readonly session?: SessionId;
  readonly limit: number;
  /** Where the last page ended, exclusive. */
  readonly before?: AnsweredCursor;
}

export interface AnsweredCursor {
  readonly answeredAt: number;
  readonly id: ApprovalId;
}

export interface AnsweredPage {
  readonly approvals: readonly ApprovalRow[];
  readonly next: AnsweredCursor | null;
}

/** What a session's memory provider still has to commit: the oldest turns, and the segment that was tried. */
export interface Unremembered {
  readonly marks: readonly MarkRow[];
  readonly trying: MemoryTryRow | null;
}

/** What waits for memory providers across an owner's sessions, except those in the trash. */
export interface MemoryBacklog {
  readonly sessions: number;
  readonly turns: number;
  /** When the oldest of these turns was completed. */
  readonly oldestAt: number | null;
  /** The failure whose next try is furthest away. */
  readonly failing: MemoryTryRow | null;
}

export interface OutboxQuery {
  readonly session?: SessionId;
  readonly delivery?: DeliveryId;
  readonly states: readonly OutboxState[];
  readonly limit: number;
}

/** Another owner's row reads exactly like one that does not exist. */
export interface Reads {
  session(owner: OwnerId, id: SessionId): Promise<SessionRow | null>;
  sessions(owner: OwnerId, query: ListQuery): Promise<SessionPage>;
  /**
   * Like `sessions`, but as `viewSession` shows them. The list is the most frequent query, so a store may serialise it
   * directly.
   */
  listed(owner: OwnerId, query: ListQuery): Promise<ListedPage>;
  events(owner: OwnerId, id: SessionId, query: EventQuery): Promise<EventPage | null>;
  entries(owner: OwnerId, id: SessionId, query: EntryQuery): Promise<EntryPage | null>;
  snapshot(owner: OwnerId, id: SessionId, query: EntryQuery): Promise<Snapshot | null>;
  /** An event of the log by its id: whether a command was carried out before. Deltas are not found. */
  event(owner: OwnerId, session: SessionId, id: EventId): Promise<StoredEvent | null>;
  run(owner: OwnerId, id: RunId): Promise<RunRow | null>;
  /** The client id of the message that a run answers, or that the run answered which it continues. */
  senderOf(owner: OwnerId, run: RunId): Promise<string | null>;
  lane(owner: OwnerId, lane: LaneKey): Promise<SessionId | null>;
  /** Lanes whose key starts with the prefix, most recently moved first. */
  lanes(owner: OwnerId, prefix: string, limit: number): Promise<readonly LaneRow[]>;
  /** In sending order: by the start of their delivery, chunk by chunk. The trash is left out. */
  outbox(owner: OwnerId, query: OutboxQuery): Promise<readonly OutboxRow[]>;
  /** The delivery that answers the message with this inbound key. */
  inbound(owner: OwnerId, key: string): Promise<OutboxRow | null>;
  usage(owner: OwnerId, query: UsageQuery): Promise<UsageTotals>;
  usageOfWork(owner: OwnerId, query: WorkQuery): Promise<UsageTotals>;
  /**
   * Days in their order, without those that have no usage; anything else by cost and then by tokens, the largest first.
   * Reads only what was used in that time.
   */
  usageGroups(owner: OwnerId, query: UsageGroupQuery): Promise<readonly UsageGroup[]>;
  /** Rejects with `blob_unreadable` if the bytes are lost or damaged where they are kept; `readableBlob` does not. */
  blob(owner: OwnerId, id: BlobId): Promise<Blob | null>;
  approval(owner: OwnerId, id: ApprovalId): Promise<ApprovalRow | null>;
  /** Open ones, oldest first. */
  approvals(owner: OwnerId, query: ApprovalQuery): Promise<ApprovalPage>;
  /** Answered or expired ones, newest first. */
  answered(owner: OwnerId, query: AnsweredQuery): Promise<AnsweredPage>;
  /** Oldest first, at most `limit`. */
  unremembered(owner: OwnerId, session: SessionId, limit: number): Promise<Unremembered>;
  memory(owner: OwnerId): Promise<MemoryBacklog>;
  /** The approvals that matter for a run's calls: its own, and those that hold for its whole session. */
  approvalsFor(owner: OwnerId, session: SessionId, run: RunId): Promise<readonly ApprovalRow[]>;
}
