import type { BlobId, OwnerId } from "@holdfast/protocol";

import type { Failed } from "./commit.ts";
import type { Blob } from "./reads.ts";

/**
 * Which blobs have their bytes in object storage. The store only keeps rows; it never reaches the objects.
 *
 * **Recorded before it exists.** A row with the object's key is written before the object is put. Whatever becomes of
 * the writer, somebody finds the object.
 *
 * **Never reused.** Each put has a key of its own, also for bytes that were stored before. So an object that is being
 * deleted never is the one that a concurrent writer relies on.
 *
 * **Garbage with its row.** Whatever deletes a blob's row makes its object garbage in the same transaction.
 */
export interface BlobObjects {
  /** The blob, or where its bytes are. */
  read(owner: OwnerId, id: BlobId): Promise<StoredBlob | null>;
  /**
   * Records that this object is about to be put. `known`: it need not be, because the blob exists (its grace period
   * begins anew), or, for a `move`, because its bytes aren't in the row any more.
   */
  begin(object: NewObject): Promise<{ readonly status: "begun" | "known" } | Failed>;
  /**
   * Makes the object, which has been put, the blob's bytes. `lost`: it took so long that the object was given up; begin
   * again.
   */
  finish(object: PutObject): Promise<{ readonly status: "stored" | "lost" } | Failed>;
  /** Takes the bytes back into the row, and gives up the object. */
  takeBack(
    owner: OwnerId,
    id: BlobId,
    bytes: Uint8Array,
  ): Promise<{ readonly status: "taken" } | Failed>;
  /** Blobs with at least so many bytes in this place, by owner and id. */
  list(query: PlacedQuery): Promise<readonly PlacedBlob[]>;
  /** Gives up objects whose writers have not finished for an hour; then keys of objects to delete, oldest first. */
  garbage(limit: number): Promise<{ readonly status: "found"; readonly keys: string[] } | Failed>;
  /** The objects are deleted. */
  forget(keys: readonly string[]): Promise<{ readonly status: "forgotten" } | Failed>;
  /** Those of the keys that no row records. */
  unrecorded(keys: readonly string[]): Promise<readonly string[]>;
  totals(): Promise<BlobTotals>;
}

export type BlobPlace = "rows" | "objects";

export interface NewObject {
  readonly key: string;
  readonly owner: OwnerId;
  readonly id: BlobId;
  readonly purpose: "put" | "move";
}

export interface PutObject extends NewObject {
  readonly mediaType: string;
  readonly size: number;
}

export interface BlobElsewhere {
  readonly id: BlobId;
  readonly mediaType: string;
  readonly size: number;
  readonly object: string;
}

export type StoredBlob = Blob | BlobElsewhere;

export interface PlacedQuery {
  readonly place: BlobPlace;
  readonly minBytes: number;
  readonly after?: { readonly owner: OwnerId; readonly id: BlobId };
  readonly limit: number;
}

export interface PlacedBlob {
  readonly owner: OwnerId;
  readonly id: BlobId;
  readonly size: number;
}

export interface BlobTotals {
  readonly rows: { readonly count: number; readonly bytes: number };
  readonly objects: { readonly count: number; readonly bytes: number };
  /** Objects that wait for their writer or their deletion. */
  readonly pending: number;
}

/** How long the writer of an object may take. */
export const objectWriteMs = 60 * 60 * 1000;
