import type { BlobId, OwnerId, SessionId } from "@holdfast/protocol";

import type { Audit } from "./audit.ts";
import type { Commit, CommitResult, Failed, FailureCode } from "./commit.ts";
import type { Leases } from "./lease.ts";
import type { Reads } from "./reads.ts";
import type { Register, Requests } from "./key-values.ts";
import type { Search } from "./search.ts";
import type { Work } from "./work.ts";

/**
 * Where everything is kept.
 *
 * **Atomic.** A `commit` is one transaction: its checks, its events, what is derived from them. Two commits
 * never interleave on one session, whichever process or machine they come from.
 *
 * **Durable.** A promise that resolves `committed` (or `acquired`, `stored`…) resolves after the write was
 * synced. What was not answered may or may not be there after a crash.
 *
 * **Dense.** The events of a commit get the numbers after the session's head, in their order, inside the
 * transaction. A refused or failed commit uses up no number.
 *
 * **Independent.** Commits that travel in one group do not share their fate: one that is refused or fails leaves
 * its neighbours as if it had never been there.
 *
 * **Repeatable.** Event ids name a commit for good. Sending it again (after `store_unknown`, or after a crash) gives
 * the first answer with `repeated`, and writes nothing. So a caller may retry any `failed` result with the same
 * commit; it never retries a `refused` one unchanged.
 *
 * **Values.** Writes resolve to a value in every case. Reads have nothing half done to report: they resolve, or
 * reject with a `StoreFailure` and nothing else. After a failure the handle stays usable and finds its way
 * back by itself; only `close` ends it.
 */
export interface Store {
  readonly kind: "sqlite" | "postgres" | "memory";
  readonly reads: Reads;
  readonly leases: Leases;
  readonly work: Work;
  readonly requests: Requests;
  readonly register: Register;
  readonly search: Search;
  readonly audit: Audit;

  commit(commit: Commit): Promise<CommitResult>;

  /** Content-addressed: the same bytes again are the same blob. Unreferenced blobs may be collected a day after they were last put. */
  putBlob(owner: OwnerId, bytes: Uint8Array, mediaType: string): Promise<PutBlobResult>;

  /** Deletes a session that is in the trash, for good. Rows that a branch reads stay. Once more: the first answer. */
  purge(owner: OwnerId, session: SessionId): Promise<PurgeResult>;

  /** Deletes at most `limit` rows that nothing needs any more (settled deltas, unreferenced blobs, answers whose time is over). */
  prune(limit: number): Promise<{ readonly status: "pruned"; readonly rows: number } | Failed>;

  /**
   * Calls `wake` when the session may have new events, from this process or another. It may be called for nothing;
   * it is called at the latest one polling interval after a commit elsewhere.
   */
  watch(session: SessionId, pace: WatchPace, wake: () => void): () => void;

  /** Copies the whole store into a new file, consistently and while it is in use. Absent where the database has tools of its own for that. */
  backup?(to: string): Promise<void>;

  /** The store's clock, in milliseconds. Leases and event times come from it. */
  now(): Promise<number>;

  close(): Promise<void>;
}

/** `live`: someone looks at a run that is held elsewhere. */
export type WatchPace = "live" | "calm";

export type PutBlobResult =
  | { readonly status: "stored"; readonly id: BlobId; readonly size: number }
  | Failed;

export type PurgeResult =
  | { readonly status: "purged"; readonly events: number }
  | { readonly status: "refused"; readonly code: "session_not_found" | "session_not_trashed" }
  | Failed;

/** How a read ends when the store cannot be read. */
export class StoreFailure extends Error {
  readonly code: FailureCode;
  constructor(code: FailureCode, message: string) {
    super(message);
    this.name = "StoreFailure";
    this.code = code;
  }
}
