import type { BlobId, OwnerId, SessionId } from "@holdfast/protocol";

import type { Audit } from "./audit.ts";
import type { BlobObjects } from "./blob-objects.ts";
import type { Commit, CommitResult, Failed, FailureCode } from "./commit.ts";
import type { Leases, ProcessIdentity } from "./lease.ts";
import type { Blob, Reads } from "./reads.ts";
import type { Register, Requests } from "./register.ts";
import type { Search } from "./search.ts";
import type { Work, WorkItem } from "./work.ts";

/**
 * Durable storage for everything the engine knows.
 *
 * **Atomic.** A `commit` is one transaction: its checks, its events and what is derived from them. Two commits never
 * interleave on one session, whichever process or machine they come from.
 *
 * **Durable.** A promise that resolves `committed` (or `acquired`, `stored`…) resolves after the write was synced. An
 * unanswered write may or may not be there after a crash.
 *
 * **Dense.** The events of a commit get the seqs after the session's head, in order, inside the transaction. A refused
 * or failed commit uses up no seq.
 *
 * **Independent.** Commits in one group do not share their fate: one that is refused or fails leaves the others as if
 * it had never been there.
 *
 * **Repeatable.** Event ids identify a commit forever. Sending it again (after `store_unknown`, or after a crash)
 * returns the first answer with `repeated` and writes nothing. A caller may therefore retry any `failed` result with
 * the same commit; it never retries a `refused` one unchanged.
 *
 * **Values.** Writes resolve to a value in every case. Reads resolve, or reject with a `StoreFailure` and nothing else.
 * After a failure the handle stays usable and recovers by itself; only `close` ends it.
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
  /** Absent: all blobs are in the store. */
  readonly blobObjects?: BlobObjects;
  /** Without it, others take over the work of a dead process only when its leases expire. */
  readonly identity?: ProcessIdentity;

  commit(commit: Commit): Promise<CommitResult>;

  /**
   * Content-addressed: the same bytes are the same blob. Unreferenced blobs may be collected a day after they were last
   * put, unless a row of the register keeps them (`keptBlobPrefix`).
   */
  putBlob(owner: OwnerId, bytes: Uint8Array, mediaType: string): Promise<PutBlobResult>;

  /** Deletes a trashed session for good. Rows a branch reads stay. Repeating it returns the first answer. */
  purge(owner: OwnerId, session: SessionId): Promise<PurgeResult>;

  /** Deletes at most `limit` rows that nothing needs any more (settled deltas, unreferenced blobs, expired answers). */
  prune(limit: number): Promise<{ readonly status: "pruned"; readonly rows: number } | Failed>;

  /**
   * Calls `wake` when the session may have new events, from this process or another. There may be false alarms; after a
   * commit elsewhere it is called within one polling interval.
   */
  watch(session: SessionId, pace: WatchPace, wake: () => void): () => void;

  /**
   * Tells other processes that the session may have work. A hint, which may be lost. Absent if only scans of the store
   * find the work of others.
   */
  signalWork?(item: WorkItem): void;

  /** Calls `wake` with what other processes have signalled, or with `null` if signals may have been lost. */
  watchWork?(wake: (item: WorkItem | null) => void): () => void;

  /**
   * Calls `wake` when another process may have changed a value of the register whose key has one of these words before
   * its first slash. Absent if only reading finds such changes.
   */
  watchRegister?(words: readonly string[], wake: () => void): () => void;

  /**
   * Copies the whole store into a new file, consistently and while in use. Absent if the database has its own tools for
   * that.
   */
  backup?(to: string): Promise<void>;

  /** The store's clock, in milliseconds. Leases and event times use it. */
  now(): Promise<number>;

  close(): Promise<void>;
}

/** `live`: somebody is watching a run that another process holds. */
export type WatchPace = "live" | "calm";

export type PutBlobResult =
  | { readonly status: "stored"; readonly id: BlobId; readonly size: number }
  | Failed;

export type PurgeResult =
  | { readonly status: "purged"; readonly events: number }
  | { readonly status: "refused"; readonly code: "session_not_found" | "session_not_trashed" }
  | Failed;

/** How a read fails when the store cannot be read. */
export class StoreFailure extends Error {
  readonly code: FailureCode;
  constructor(code: FailureCode, message: string) {
    super(message);
    this.name = "StoreFailure";
    this.code = code;
  }
}

/** `null` also if the bytes are lost or damaged: for readers that go on without them. */
export async function readableBlob(
  reads: Pick<Reads, "blob">,
  owner: OwnerId,
  id: BlobId,
): Promise<Blob | null> {
  try {
    return await reads.blob(owner, id);
  } catch (error) {
    if (error instanceof StoreFailure && error.code === "blob_unreadable") return null;
    throw error;
  }
}

/** A process whose death others cannot detect: they take over only when its leases expire. */
const anonymousIdentity: ProcessIdentity = {
  holder: (agent) => ({
    host: "",
    boot: null,
    pidNamespace: null,
    pid: 0,
    processStart: null,
    thread: 0,
    agent,
    nonce: crypto.randomUUID(),
  }),
  isDead: () => "unknown",
};

export function identityOf({
  identity = anonymousIdentity,
}: Pick<Store, "identity">): ProcessIdentity {
  return identity;
}
