import type {
  ApprovalDecision,
  ApprovalDetails,
  ApprovalId,
  Attachment,
  BlobId,
  CallId,
  DeliveryId,
  DeliveryKind,
  Fence,
  InputMode,
  Json,
  LaneKey,
  MessageId,
  OutboxState,
  OwnerId,
  RunId,
  RunState,
  Seq,
  SeqRange,
  SessionId,
  TitleSource,
} from "@holdfast/protocol";

/**
 * The rows that are derived from the log. Each is a fold of its session's events and of nothing else, so
 * that `fsck --rebuild` can make it again and prove it equal.
 */
export interface SessionRow {
  readonly id: SessionId;
  readonly owner: OwnerId;
  /** The number of the newest event. */
  readonly head: Seq;
  readonly version: number;
  readonly revision: number;
  readonly createdAt: number;
  readonly activityAt: number;
  /** The place in the list. Checkpoints do not move it. */
  readonly sortAt: number;
  readonly title: string | null;
  readonly titleSource: TitleSource | null;
  readonly preview: string;
  readonly messageCount: number;
  readonly model: string | null;
  readonly workspace: string | null;
  readonly pinned: boolean;
  readonly archived: boolean;
  readonly project: string | null;
  readonly tags: readonly string[];
  readonly trashedAt: number | null;
  /** The visible conversation, oldest first. */
  readonly ranges: readonly SeqRange[];
  /** For a branch: the log that it left, and the last number that it reads there. Its own numbers go on from it. */
  readonly origin: { readonly sessionId: SessionId; readonly seq: Seq } | null;
  readonly epoch: number;
  /** The run that has been claimed and has not ended. */
  readonly liveRun: RunId | null;
  readonly liveState: RunState | null;
  /** How the last run that ended did so. */
  readonly lastState: RunState | null;
  /** Deltas that no settled entry stands for yet. */
  readonly openDeltas: number;
}

export interface RunRow {
  readonly id: RunId;
  readonly session: SessionId;
  readonly state: RunState;
  readonly cause: string | null;
  readonly attempt: number;
  readonly step: number;
  readonly cancelRequested: boolean;
  readonly continues: RunId | null;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** Where the journal of the step that is running begins. */
  readonly journalFrom: Seq;
  /** How often the model has failed in the step that is running; 0 once its answer is there. */
  readonly tries: number;
  /** Since when it is a person's turn, while it is. */
  readonly restsSince: number | null;
  /** How long it has rested before, in milliseconds. Its time limit does not count that. */
  readonly restedMs: number;
}

export type ApprovalState = "open" | "answered" | "withdrawn";

/** A call that waits for a person's word. It is about exactly these arguments, by their hash. */
export interface ApprovalRow {
  readonly id: ApprovalId;
  readonly session: SessionId;
  readonly owner: OwnerId;
  readonly runId: RunId;
  readonly callId: CallId;
  readonly tool: string;
  readonly input: Json;
  readonly inputHash: string;
  readonly askedAt: number;
  /** From then on, by the store's clock, it cannot be answered any more. */
  readonly expiresAt: number;
  /** `withdrawn`: its run ended, or its session went to the trash, before there was an answer. */
  readonly state: ApprovalState;
  readonly decision: ApprovalDecision | null;
  readonly answeredAt: number | null;
  readonly details: ApprovalDetails;
}

/** A completed turn that its memory provider has not committed yet. Its number is the turn's generation. */
export interface MarkRow {
  readonly session: SessionId;
  readonly seq: Seq;
  readonly runId: RunId;
  readonly provider: string;
  readonly configuration: string;
  readonly at: number;
}

/** A segment that was handed to its provider and is not committed. There is at most one in a session. */
export interface MemoryTryRow {
  readonly session: SessionId;
  readonly key: string;
  /** The newest generation that it holds. */
  readonly upTo: Seq;
  readonly tries: number;
  /** Set when the last try has failed: not before then, by the store's clock. */
  readonly retryAt: number | null;
  readonly code: string | null;
  readonly message: string | null;
}

export type InputState = "queued" | "taken" | "removed";

export interface InputRow {
  readonly messageId: MessageId;
  readonly session: SessionId;
  readonly clientId: string;
  readonly hash: string;
  readonly runId: RunId;
  readonly seq: Seq;
  readonly mode: InputMode;
  readonly state: InputState;
  readonly lane: LaneKey | null;
  readonly at: number;
  /** Gone once the message has been taken: then it stands in the log as an entry. */
  readonly content: { readonly text: string; readonly attachments: readonly Attachment[] } | null;
}

export interface UsageRow {
  readonly session: SessionId;
  readonly seq: Seq;
  readonly runId: RunId | null;
  readonly owner: OwnerId;
  readonly at: number;
  readonly model: string;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly costMicros: number;
}

export interface LaneRow {
  readonly owner: OwnerId;
  readonly lane: LaneKey;
  readonly session: SessionId;
  readonly at: number;
}

export interface BlobRow {
  readonly owner: OwnerId;
  readonly id: BlobId;
  readonly size: number;
  readonly mediaType: string;
  /** How many events name it. */
  readonly refs: number;
  readonly createdAt: number;
}

/** One chunk of what must go out to a platform. A delivery has a chunk that is still to be sent until all of it is out. */
export interface OutboxRow {
  readonly session: SessionId;
  readonly delivery: DeliveryId;
  readonly chunk: number;
  readonly kind: DeliveryKind;
  readonly lane: LaneKey;
  readonly runId: RunId | null;
  readonly approvalId: ApprovalId | null;
  /** The key of what it answers; on the first chunk alone. No two deliveries have the same. */
  readonly inbound: string | null;
  readonly replyTo: string | null;
  readonly text: string | null;
  /** Where the delivery begins in its session's log. */
  readonly begun: Seq;
  readonly state: OutboxState;
  readonly from: number;
  readonly to: number;
  readonly platformId: string | null;
  readonly attempts: number;
  readonly retryAt: number | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly at: number;
}

/** `history`: somebody is about to cut the conversation. While it is held nothing new is claimed. */
export type LeaseKind = "run" | "compaction" | "memory" | "history" | "outbox";

/** Who holds a lease. A part that cannot be known on this system is `null`, and then proves nothing. */
export interface Holder {
  readonly host: string;
  readonly boot: string | null;
  readonly pidNamespace: string | null;
  readonly pid: number;
  /** The start of the process, in the kernel's own count: a reused pid has another. */
  readonly processStart: string | null;
  readonly thread: number;
  readonly agent: string;
  readonly nonce: string;
}

export interface LeaseRow {
  readonly kind: LeaseKind;
  readonly session: SessionId;
  readonly fence: Fence;
  readonly holder: Holder;
  /** By the store's clock. */
  readonly expiresAt: number;
}

/** A session that was purged: the one thing that is kept of it. */
export interface PurgeRow {
  readonly session: SessionId;
  readonly owner: OwnerId;
  readonly at: number;
  readonly events: number;
}
