import { createHash } from "node:crypto";

import type {
  ApprovalRow,
  BlobRow,
  InputRow,
  LaneRow,
  LeaseKind,
  LeaseRow,
  MemoryRows,
  OutboxRow,
  PurgeRow,
  RawEvent,
  RegisterRow,
  RequestRow,
  RunRow,
  SessionRow,
  UsageRow,
} from "@holdfast/engine";
import {
  blobId,
  type ApprovalId,
  type BlobId,
  type EventId,
  type LaneKey,
  type MessageId,
  type OwnerId,
  type RunId,
  type SeqRange,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";

export interface LogRow {
  readonly event: StoredEvent;
  place: RawEvent["place"];
}

/** A session's log. It outlives its session as long as a branch reads it. */
export interface Log {
  readonly owner: OwnerId;
  /** Sorted by seq. */
  rows: LogRow[];
  readonly byId: Map<EventId, LogRow>;
}

export interface SessionData {
  row: SessionRow;
  /** The ranges of other logs that it read when it began: a branch may restore what it has cut since. */
  readonly reads: readonly SeqRange[];
  readonly runs: Map<RunId, RunRow>;
  readonly inputs: Map<MessageId, InputRow>;
  readonly approvals: Map<ApprovalId, ApprovalRow>;
  memory: MemoryRows;
  readonly outbox: Map<string, OutboxRow>;
  readonly leases: Map<LeaseKind, LeaseRow>;
  /** The greatest fence ever issued. */
  readonly fences: Map<LeaseKind, number>;
}

export interface StoredBlob {
  row: BlobRow;
  readonly bytes: Uint8Array;
}

/** Everything that handles on one store share. */
export interface ReferenceData {
  readonly clock: () => number;
  readonly sessions: Map<SessionId, SessionData>;
  readonly logs: Map<SessionId, Log>;
  readonly lanes: Map<string, LaneRow>;
  /** Usage outlives its sessions: a purge deletes the conversation, not the bill. */
  usage: UsageRow[];
  readonly blobs: Map<string, StoredBlob>;
  readonly purges: Map<SessionId, PurgeRow>;
  readonly requests: Map<string, RequestRow>;
  readonly register: Map<string, RegisterRow>;
  readonly watchers: Set<SessionWatcher>;
}

export interface SessionWatcher {
  readonly session: SessionId;
  readonly wake: () => void;
}

export function emptyData(clock: () => number): ReferenceData {
  return {
    clock,
    sessions: new Map(),
    logs: new Map(),
    lanes: new Map(),
    usage: [],
    blobs: new Map(),
    purges: new Map(),
    requests: new Map(),
    register: new Map(),
    watchers: new Set(),
  };
}

export function laneKeyOf(owner: OwnerId, lane: LaneKey): string {
  return `${owner} ${lane}`;
}

export function blobKeyOf(owner: OwnerId, blob: BlobId): string {
  return `${owner} ${blob}`;
}

/** The same bytes are the same blob. */
export function blobIdOf(bytes: Uint8Array): BlobId {
  return blobId.parse(`blob_${createHash("sha256").update(bytes).digest("hex")}`);
}

/** Another owner's session reads like one that doesn't exist. */
export function sessionOf(data: ReferenceData, owner: OwnerId, id: SessionId): SessionData | null {
  const found = data.sessions.get(id);
  return found?.row.owner === owner ? found : null;
}

/** What a reader of the log sees: no settled deltas, whether they are deleted yet or not. */
export function readableRows(data: ReferenceData, log: SessionId): readonly StoredEvent[] {
  const rows = data.logs.get(log)?.rows ?? [];
  return rows.filter((row) => row.place !== "pruned").map((row) => row.event);
}

/** The seq up to which branches read this log. */
export function lastSeqReadByBranches(data: ReferenceData, log: SessionId): number {
  const reads = data.sessions.values().flatMap((session) => session.reads);
  return Math.max(0, ...reads.filter((range) => range.log === log).map(({ to }) => to ?? 0));
}
