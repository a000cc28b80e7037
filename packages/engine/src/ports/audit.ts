import type { BlobId, OwnerId, SessionId, StoredEvent } from "@holdfast/protocol";

import type { RegisterRow } from "./register.ts";
import type {
  ApprovalRow,
  BlobRow,
  InputRow,
  LaneRow,
  LeaseRow,
  MarkRow,
  MemoryTryRow,
  OutboxRow,
  PurgeRow,
  RunRow,
  SessionRow,
  UsageRow,
} from "./rows.ts";

/** An event row as stored, with what the store knows about its payload. */
export interface RawEvent {
  readonly session: SessionId;
  readonly seq: number;
  /** `null` if the payload's checksum is wrong or it does not parse. */
  readonly event: StoredEvent | null;
  readonly problem?: string;
  /** `log` rows stay; `delta` rows are open output of a live run; `pruned` ones await deletion. */
  readonly place: "log" | "delta" | "pruned";
  /** Of `log` rows, in a store that links them. */
  readonly link?: { readonly state: LinkState; readonly text: string | null };
}

/**
 * How an event of the log is linked by hash to the one before it. `unlinked`: it has no link although the one before it
 * does. `before chain`: written by a version that linked nothing.
 */
export type LinkState = "linked" | "broken" | "unlinked" | "before chain";

export interface RawBlob extends BlobRow {
  /** Whether the bytes still match the hash that is their id. */
  readonly intact: boolean;
  /** The bytes are in this object. `null`: they are not in the row, and no object is recorded. */
  readonly object?: string | null;
  /** Why its bytes are not intact. */
  readonly problem?: "object_missing" | "object_damaged";
  /** Why the object could not be checked now, which says nothing about it. */
  readonly unchecked?: string;
}

/** Rows that reference a missing session. */
export interface Orphan {
  readonly table: string;
  readonly key: string;
}

export interface Derived {
  readonly session: SessionRow;
  readonly runs: readonly RunRow[];
  readonly inputs: readonly InputRow[];
  readonly lanes: readonly LaneRow[];
  readonly usage: readonly UsageRow[];
  readonly approvals: readonly ApprovalRow[];
  readonly marks: readonly MarkRow[];
  readonly memoryTries: readonly MemoryTryRow[];
  readonly outbox: readonly OutboxRow[];
}

/** The last event of a log, and its hash: `null` if it has none. */
export interface LogEnd {
  readonly seq: number;
  readonly hash: string | null;
}

export interface UnlinkedSessions {
  readonly sessions: readonly { readonly owner: OwnerId; readonly session: SessionId }[];
  /** The last session that was looked at; `null` if there are no more. */
  readonly last: string | null;
}

/** The whole store, row by row, for `fsck`. Nothing is filtered by owner. Keyset order, bounded pages inside. */
export interface Audit {
  sessions(): AsyncIterable<SessionRow>;
  /**
   * In the order of their seqs, with the rows of all three places merged. For a purged session: what branches still
   * read.
   */
  events(session: SessionId): AsyncIterable<RawEvent>;
  /** `null` if there is no such log. */
  logEnd(session: SessionId): Promise<LogEnd | null>;
  /** Of so many sessions, in the order of their ids: those whose last event is not linked. */
  unlinked(after: string, limit: number): Promise<UnlinkedSessions>;
  /** The derived rows of one session. */
  derived(session: SessionId): Promise<Derived | null>;
  leases(): AsyncIterable<LeaseRow>;
  blobs(): AsyncIterable<RawBlob>;
  purges(): AsyncIterable<PurgeRow>;
  /** The values of all owners. */
  register(): AsyncIterable<RegisterRow>;
  /** What a session has used, which outlives it. */
  usage(session: SessionId): Promise<readonly UsageRow[]>;
  orphans(): AsyncIterable<Orphan>;
  /** The database's own integrity check; an empty list means clean. */
  integrity(): Promise<readonly string[]>;
  /** Replaces the derived rows, provided that the session's head has not moved. */
  replaceDerived(derived: Derived): Promise<"replaced" | "moved">;
  replaceBlobRefs(refs: ReadonlyMap<BlobId, number>, owner: BlobRow["owner"]): Promise<void>;
}
