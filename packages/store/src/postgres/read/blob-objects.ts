import type { BlobObjects } from "@holdfast/engine";
import { blobId, ownerId } from "@holdfast/protocol";
import { z } from "zod";

import { statement } from "../connection.ts";
import type { ReaderPool } from "./reader-pool.ts";

/** The row of a blob without bytes always has an object; damage reads as an object that isn't there. */
export const objectOfBlob = `
  CASE WHEN b.bytes IS NULL
       THEN (SELECT o.key FROM objects o WHERE o.owner_id = b.owner_id AND o.blob_id = b.id AND o.state = 'live')
   END AS object`;

const blobById = statement(
  "blob_by_id",
  `SELECT b.media_type, b.size, b.bytes, ${objectOfBlob} FROM blobs b WHERE b.owner_id = $1 AND b.id = $2`,
);
const placedBlobs = statement(
  "placed_blobs",
  `SELECT owner_id, id, size FROM blobs
    WHERE (owner_id, id) > ($1, $2) AND (bytes IS NULL) = $3 AND size >= $4
    ORDER BY owner_id, id LIMIT $5`,
);
const unrecordedObjects = statement(
  "unrecorded_objects",
  `SELECT x.key FROM unnest($1::text[]) AS x (key)
    WHERE NOT EXISTS (SELECT 1 FROM objects o WHERE o.key = x.key COLLATE "C")`,
);
const blobTotals = statement(
  "blob_totals",
  `SELECT count(*) FILTER (WHERE bytes IS NOT NULL) AS rows,
          coalesce(sum(size) FILTER (WHERE bytes IS NOT NULL), 0) AS row_bytes,
          count(*) FILTER (WHERE bytes IS NULL) AS objects,
          coalesce(sum(size) FILTER (WHERE bytes IS NULL), 0) AS object_bytes,
          (SELECT count(*) FROM objects WHERE state <> 'live') AS pending
     FROM blobs`,
);

const blobRow = z.object({
  media_type: z.string(),
  size: z.coerce.number(),
  bytes: z.instanceof(Uint8Array).nullable(),
  object: z.string().nullable(),
});
const placedRow = z.object({ owner_id: ownerId, id: blobId, size: z.coerce.number() });
const totalsRow = z.record(z.string(), z.coerce.number());

export function createBlobObjectReads(
  pool: ReaderPool,
): Pick<BlobObjects, "read" | "list" | "unrecorded" | "totals"> {
  return {
    async read(owner, id) {
      const [row] = await pool.rows(blobById, [owner, id]);
      if (row === undefined) return null;
      const { media_type: mediaType, size, bytes, object } = blobRow.parse(row);
      return bytes === null
        ? { id, mediaType, size, object: object ?? "" }
        : { id, mediaType, bytes };
    },
    async list({ place, minBytes, after, limit }) {
      const from = [after?.owner ?? "", after?.id ?? ""];
      const rows = await pool.rows(placedBlobs, [...from, place === "objects", minBytes, limit]);
      return rows.map((row) => {
        const { owner_id: owner, id, size } = placedRow.parse(row);
        return { owner, id, size };
      });
    },
    async unrecorded(keys) {
      const rows = await pool.rows(unrecordedObjects, [keys]);
      return rows.map((row) => z.string().parse(row["key"]));
    },
    async totals() {
      const [row] = await pool.rows(blobTotals, []);
      const found = totalsRow.parse(row);
      return {
        rows: { count: found["rows"] ?? 0, bytes: found["row_bytes"] ?? 0 },
        objects: { count: found["objects"] ?? 0, bytes: found["object_bytes"] ?? 0 },
        pending: found["pending"] ?? 0,
      };
    },
  };
}
