import { objectWriteMs } from "@holdfast/engine/ports";
import type { NewObject, PutObject } from "@holdfast/engine";
import type { BlobId, OwnerId } from "@holdfast/protocol";
import type { Connection } from "../connection.ts";
import { text } from "../rows.ts";

export function beginObject(
  connection: Connection,
  { key, owner, id, purpose }: NewObject,
  now: number,
): { status: "begun" | "known" } {
  const isKnown =
    purpose === "put"
      ? connection
          .sql("UPDATE blobs SET created_at = max(created_at, ?) WHERE owner_id = ? AND id = ?")
          .run(now, owner, id).changes > 0
      : connection
          .sql("SELECT 1 FROM blobs WHERE owner_id = ? AND id = ? AND bytes IS NOT NULL")
          .get(owner, id) === undefined;
  if (isKnown) return { status: "known" };
  connection
    .sql("INSERT INTO objects VALUES (?, ?, ?, 'writing', ?) ON CONFLICT DO NOTHING")
    .run(key, owner, id, now);
  return { status: "begun" };
}

export function finishObject(
  connection: Connection,
  object: PutObject,
  now: number,
): { status: "stored" | "lost" } {
  const { key, owner, id, purpose } = object;
  const row = connection.sql("SELECT state FROM objects WHERE key = ?").get(key);
  const state = row === undefined ? undefined : text(row, "state");
  // Sent again, because the first answer was lost.
  if (state === "live") return { status: "stored" };
  if (state !== "writing") return { status: "lost" };
  const used =
    purpose === "put"
      ? connection
          .sql(
            `INSERT INTO blobs (owner_id, id, media_type, size, refs, created_at, bytes)
             VALUES (?, ?, ?, ?, 0, ?, NULL) ON CONFLICT (owner_id, id) DO NOTHING`,
          )
          .run(owner, id, object.mediaType, object.size, now).changes
      : connection
          .sql("UPDATE blobs SET bytes = NULL WHERE owner_id = ? AND id = ? AND bytes IS NOT NULL")
          .run(owner, id).changes;
  if (used === 0 && purpose === "put")
    connection
      .sql("UPDATE blobs SET created_at = max(created_at, ?) WHERE owner_id = ? AND id = ?")
      .run(now, owner, id);
  connection
    .sql("UPDATE objects SET state = ?, since = ? WHERE key = ?")
    .run(used === 0 ? "garbage" : "live", now, key);
  return { status: "stored" };
}

export function takeBackBlob(
  connection: Connection,
  {
    owner,
    id,
    bytes,
  }: { readonly owner: OwnerId; readonly id: BlobId; readonly bytes: Uint8Array },
  now: number,
): { status: "taken" } {
  const { changes } = connection
    .sql("UPDATE blobs SET bytes = ? WHERE owner_id = ? AND id = ? AND bytes IS NULL")
    .run(bytes, owner, id);
  if (changes > 0)
    connection
      .sql(
        "UPDATE objects SET state = 'garbage', since = ? WHERE owner_id = ? AND blob_id = ? AND state = 'live'",
      )
      .run(now, owner, id);
  return { status: "taken" };
}

export function findGarbage(
  connection: Connection,
  limit: number,
  now: number,
): { status: "found"; keys: string[] } {
  connection
    .sql("UPDATE objects SET state = 'garbage' WHERE state = 'writing' AND since <= ?")
    .run(now - objectWriteMs);
  const keys = connection
    .sql("SELECT key FROM objects WHERE state = 'garbage' ORDER BY since LIMIT ? + 0")
    .all(limit)
    .map((row) => text(row, "key"));
  return { status: "found", keys };
}

export function forgetObjects(
  connection: Connection,
  keys: readonly string[],
): { status: "forgotten" } {
  const forget = connection.sql("DELETE FROM objects WHERE key = ? AND state = 'garbage'");
  for (const key of keys) forget.run(key);
  return { status: "forgotten" };
}
