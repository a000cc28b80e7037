import type { BlobRow } from "@holdfast/engine";
import type { BlobId, OwnerId } from "@holdfast/protocol";

import type { Connection } from "../connection.ts";

export interface NewBlob {
  readonly owner: OwnerId;
  readonly id: BlobId;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** An unreferenced blob may be collected once it is this old: long enough for the message that will name it. */
const blobGraceMs = 24 * 60 * 60 * 1000;

/** Bytes that are there already stay; their grace begins anew, since someone is about to name them. */
export function storeBlob(
  connection: Connection,
  blob: NewBlob,
  now: number,
): { status: "stored"; id: BlobId; size: number } {
  connection
    .sql(
      `INSERT INTO blobs (owner_id, id, media_type, size, refs, created_at, bytes) VALUES (?, ?, ?, ?, 0, ?, ?)
       ON CONFLICT (owner_id, id) DO UPDATE SET created_at = excluded.created_at`,
    )
    .run(blob.owner, blob.id, blob.mediaType, blob.bytes.byteLength, now, blob.bytes);
  return { status: "stored", id: blob.id, size: blob.bytes.byteLength };
}

export function deleteUnreferencedBlobs(
  connection: Connection,
  limit: number,
  now: number,
): number {
  const { changes } = connection
    .sql(
      `DELETE FROM blobs WHERE key IN (
         SELECT key FROM blobs WHERE refs = 0 AND created_at <= ? ORDER BY created_at LIMIT ? + 0)`,
    )
    .run(now - blobGraceMs, limit);
  return Number(changes);
}

export function writeBlobRefs(
  connection: Connection,
  owner: BlobRow["owner"],
  refs: ReadonlyMap<BlobId, number>,
): void {
  connection.sql("UPDATE blobs SET refs = 0 WHERE owner_id = ?").run(owner);
  const set = connection.sql("UPDATE blobs SET refs = ? WHERE owner_id = ? AND id = ?");
  for (const [id, count] of refs) set.run(count, owner, id);
}
