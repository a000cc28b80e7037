import type { BlobTotals, PlacedBlob, PlacedQuery, StoredBlob } from "@holdfast/engine";
import type { BlobId, OwnerId } from "@holdfast/protocol";
import type { Connection } from "../connection.ts";
import { bytesOrNull, int, text, textOrNull } from "../rows.ts";

export interface BlobObjectQueries {
  blob(owner: OwnerId, id: BlobId): StoredBlob | null;
  placedBlobs(query: PlacedQuery): PlacedBlob[];
  unrecordedObjects(keys: readonly string[]): string[];
  blobTotals(): BlobTotals;
}

/** The row of a blob without bytes always has an object; damage reads as an object that isn't there. */
export const objectOfBlob = `
  SELECT o.key FROM objects o
   WHERE o.owner_id = b.owner_id AND o.blob_id = b.id AND o.state = 'live'`;

export function blobObjectQueries(connection: Connection): BlobObjectQueries {
  return {
    blob(owner, id) {
      const row = connection
        .sql(
          `SELECT b.media_type, b.size, b.bytes, CASE WHEN b.bytes IS NULL THEN (${objectOfBlob}) END AS object
             FROM blobs b WHERE b.owner_id = ? AND b.id = ?`,
        )
        .get(owner, id);
      if (row === undefined) return null;
      const mediaType = text(row, "media_type");
      const stored = bytesOrNull(row, "bytes");
      if (stored !== null) return { id, mediaType, bytes: stored };
      return { id, mediaType, size: int(row, "size"), object: textOrNull(row, "object") ?? "" };
    },
    placedBlobs: ({ place, minBytes, after, limit }) =>
      connection
        .sql(
          `SELECT owner_id, id, size FROM blobs
            WHERE (owner_id, id) > (?, ?) AND (bytes IS NULL) = ? AND size >= ?
            ORDER BY owner_id, id LIMIT ? + 0`,
        )
        .all(after?.owner ?? "", after?.id ?? "", place === "objects" ? 1 : 0, minBytes, limit)
        .map((row) => ({
          owner: text<OwnerId>(row, "owner_id"),
          id: text<BlobId>(row, "id"),
          size: int(row, "size"),
        })),
    unrecordedObjects: (keys) =>
      keys.filter(
        (key) => connection.sql("SELECT 1 FROM objects WHERE key = ?").get(key) === undefined,
      ),
    blobTotals() {
      const place = (isNull: string) => {
        const row = connection
          .sql(
            `SELECT count(*) AS count, coalesce(sum(size), 0) AS bytes FROM blobs WHERE bytes ${isNull}`,
          )
          .get();
        return { count: Number(row?.["count"]), bytes: Number(row?.["bytes"]) };
      };
      const pending = connection
        .sql("SELECT count(*) AS count FROM objects WHERE state <> 'live'")
        .get();
      return {
        rows: place("IS NOT NULL"),
        objects: place("IS NULL"),
        pending: Number(pending?.["count"]),
      };
    },
  };
}
