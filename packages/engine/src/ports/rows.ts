import type {
  AlternativeSet,
  ApprovalDecision,
  ApprovalDetails,
  ApprovalId,
  AttachedPart,
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
  QuotedRanges,
  Rights,
  RunId,
  RunState,
  Seq,
  SeqRange,
  SessionId,
  SessionMode,
  TaintSource,
  TitleSource,
} from "@holdfast/protocol";

/**
 * The rows derived from the log. Each is a fold of its session's events and nothing else, so that `fsck --rebuild` can
 * derive it again and prove it equal.
 */
export interface SessionRow {
  readonly id: SessionId;
  readonly owner: OwnerId;
  /** The seq of the newest event. */
  readonly head: Seq;
  readonly version: number;
  readonly revision: number;
  readonly createdAt: number;
  readonly activityAt: number;
  /** The position in the list. Checkpoints do not move it. */
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
  /** `null`: it was never given one, and the model was never told of any. */
  readonly mode: SessionMode | null;
  /** The persona that it has chosen; `null`: the default one. */
  readonly persona: string | null;
  readonly trashedAt: number | null;
  /** The visible conversation, oldest first. */
  readonly ranges: readonly SeqRange[];
  /** The turns that have more than one version, and where the others were left. */
  readonly alternatives: readonly AlternativeSet[];
  /** For a branch: the log it left, and the last seq it reads there. Its own seqs continue from it. */
  readonly origin: { readonly sessionId: SessionId; readonly seq: Seq } | null;
  readonly epoch: number;
  /** The run that was claimed and has not ended. */
  readonly liveRun: RunId | null;
  readonly liveState: RunState | null;
  /** How the last run ended. */
  readonly lastState: RunState | null;
  /** Deltas not yet settled by an entry. */
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
  /** Where the journal of the running step starts. */
  readonly journalFrom: Seq;
  /** How often the model has failed in the running step; 0 once it has answered. */
  readonly tries: number;
  /** Since when it has been a person's turn, while it is. */
  readonly restsSince: number | null;
  /** How long it rested earlier, in milliseconds. Its time limit does not count that. */
  readonly restedMs: number;
}

export type ApprovalState = "open" | "answered" | "withdrawn";

/** A call that waits for a person's decision about exactly these arguments, by their hash. */
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
  /** From then on, by the store's clock, it can no longer be answered. */
  readonly expiresAt: number;
  /** `withdrawn`: its run ended, or its session was trashed, before there was an answer. */
  readonly state: ApprovalState;
  readonly decision: ApprovalDecision | null;
  readonly answeredAt: number | null;
  readonly details: ApprovalDetails;
}

/** A completed turn its memory provider has not committed yet. Its seq is the turn's generation. */
export interface MarkRow {
  readonly session: SessionId;
  readonly seq: Seq;
  readonly runId: RunId;
  readonly provider: string;
  readonly configuration: string;
  readonly at: number;
}

/** A segment that was handed to its provider and is not committed. A session has at most one. */
export interface MemoryTryRow {
  readonly session: SessionId;
  readonly key: string;
  /** The newest generation it contains. */
  readonly upTo: Seq;
  readonly tries: number;
  /** Set after a failed try: not before then, by the store's clock. */
  readonly retryAt: number | null;
  readonly code: string | null;
  readonly message: string | null;
}

export interface InputContent {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** What of the text the sender did not write. */
  readonly quoted?: QuotedRanges | undefined;
  /** What it may cause at most. */
  readonly rights?: Rights | undefined;
  /** What the text was derived from. */
  readonly taint?: readonly TaintSource[] | undefined;
  /** What the model gets alongside it. */
  readonly attached?: readonly AttachedPart[] | undefined;
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
  /** Absent once the message has been claimed: it is then an entry in the log. */
  readonly content: InputContent | null;
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
  /** The rights profile that it was spent under, if its rights are limited; names joined by `+`. */
  readonly profile: string | null;
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
  /** How many events reference it. */
  readonly refs: number;
  readonly createdAt: number;
}

/** One chunk of what must go out to a platform. A delivery has an unsent chunk until all of it is out. */
export interface OutboxRow {
  readonly session: SessionId;
  readonly delivery: DeliveryId;
  readonly chunk: number;
  readonly kind: DeliveryKind;
  readonly lane: LaneKey;
  readonly runId: RunId | null;
  readonly approvalId: ApprovalId | null;
  /** The inbound key it answers; on the first chunk only. No two deliveries share one. */
  readonly inbound: string | null;
  readonly replyTo: string | null;
  readonly text: string | null;
  /** Where the delivery starts in its session's log. */
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

/** `history`: somebody is about to cut the conversation. While it is held, nothing new is claimed. */
export type LeaseKind = "run" | "compaction" | "memory" | "history" | "outbox";

/** Who holds a lease. A part that this system cannot determine is `null`, and then proves nothing. */
export interface Holder {
  readonly host: string;
  readonly boot: string | null;
  readonly pidNamespace: string | null;
  readonly pid: number;
  /** The process start time as the kernel counts it: a reused pid has a different one. */
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

/** All that remains of a purged session. */
export interface PurgeRow {
  readonly session: SessionId;
  readonly owner: OwnerId;
  readonly at: number;
  readonly events: number;
}
