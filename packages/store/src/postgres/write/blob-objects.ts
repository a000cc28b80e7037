import { type BlobObjects, type NewObject, objectWriteMs, type PutObject } from "@holdfast/engine";
import type { BlobId, OwnerId } from "@holdfast/protocol";

import { execute, statement } from "../connection.ts";
import { RetryTransaction } from "../errors.ts";
import type { ReaderPool } from "../read/reader-pool.ts";
import { createBlobObjectReads } from "../read/blob-objects.ts";
import { createJob, type PendingJob } from "./jobs.ts";
import type { Writer } from "./writer.ts";

const touchBlob = statement(
  "touch_blob",
  `UPDATE blobs SET created_at = greatest(created_at, $3) WHERE owner_id = $1 AND id = $2`,
);
const hasBytes = statement(
  "has_bytes",
  `SELECT 1 FROM blobs WHERE owner_id = $1 AND id = $2 AND bytes IS NOT NULL`,
);
const beginObject = statement(
  "begin_object",
  `INSERT INTO objects (key, owner_id, blob_id, state, since) VALUES ($1, $2, $3, 'writing', $4)
   ON CONFLICT (key) DO NOTHING`,
);
const lockObject = statement("lock_object", `SELECT state FROM objects WHERE key = $1 FOR UPDATE`);
const insertBlob = statement(
  "insert_blob",
  `INSERT INTO blobs (owner_id, id, media_type, size, refs, created_at, bytes)
   VALUES ($1, $2, $3, $4, 0, $5, NULL) ON CONFLICT (owner_id, id) DO NOTHING`,
);
const moveBytesOut = statement(
  "move_bytes_out",
  `UPDATE blobs SET bytes = NULL WHERE owner_id = $1 AND id = $2 AND bytes IS NOT NULL`,
);
const setObjectState = statement(
  "set_object_state",
  `UPDATE objects SET state = $2, since = $3 WHERE key = $1`,
);
const takeBytesBack = statement(
  "take_bytes_back",
  `UPDATE blobs SET bytes = $3 WHERE owner_id = $1 AND id = $2 AND bytes IS NULL`,
);
const giveUpObject = statement(
  "give_up_object",
  `UPDATE objects SET state = 'garbage', since = $3 WHERE owner_id = $1 AND blob_id = $2 AND state = 'live'`,
);
const giveUpUnfinished = statement(
  "give_up_unfinished",
  `UPDATE objects SET state = 'garbage' WHERE key IN (
     SELECT key FROM objects WHERE state = 'writing' AND since <= $1 FOR UPDATE SKIP LOCKED)`,
);
const garbageKeys = statement(
  "garbage_keys",
  `SELECT key FROM objects WHERE state = 'garbage' ORDER BY since LIMIT $1`,
);
const forgetObjects = statement(
  "forget_objects",
  `DELETE FROM objects WHERE key = ANY($1) AND state = 'garbage'`,
);

export function createBlobObjects(writer: Writer, pool: ReaderPool): BlobObjects {
  return {
    ...createBlobObjectReads(pool),
    begin: (object) => writer.submit(beginJob(object)),
    finish: (object) => writer.submit(finishJob(object)),
    takeBack: (owner, id, bytes) => writer.submit(takeBackJob(owner, id, bytes)),
    garbage: (limit) => writer.submit(garbageJob(limit)),
    forget: (keys) => writer.submit(forgetJob(keys)),
  };
}

type Begun = Awaited<ReturnType<BlobObjects["begin"]>>;

function beginJob({ key, owner, id, purpose }: NewObject): PendingJob<Begun> {
  return createJob<Begun>({
    work: async (connection, now) => {
      const isKnown =
        purpose === "put"
          ? (await execute(connection, touchBlob, [owner, id, now])).rowCount === 1
          : (await execute(connection, hasBytes, [owner, id])).rows.length === 0;
      if (isKnown) return { status: "known" };
      await execute(connection, beginObject, [key, owner, id, now]);
      return { status: "begun" };
    },
    failed: (failure) => failure,
  });
}

type Finished = Awaited<ReturnType<BlobObjects["finish"]>>;

function finishJob({ key, owner, id, purpose, mediaType, size }: PutObject): PendingJob<Finished> {
  return createJob<Finished>({
    work: async (connection, now) => {
      const { rows } = await execute(connection, lockObject, [key]);
      const state = rows[0]?.["state"];
      // Sent again, because the first answer was lost.
      if (state === "live") return { status: "stored" };
      if (state !== "writing") return { status: "lost" };
      const { rowCount } =
        purpose === "put"
          ? await execute(connection, insertBlob, [owner, id, mediaType, size, now])
          : await execute(connection, moveBytesOut, [owner, id]);
      if (rowCount === 0 && purpose === "put") {
        const touched = await execute(connection, touchBlob, [owner, id, now]);
        if (touched.rowCount === 0) throw new RetryTransaction("a blob was collected meanwhile");
      }
      await execute(connection, setObjectState, [key, rowCount === 0 ? "garbage" : "live", now]);
      return { status: "stored" };
    },
    failed: (failure) => failure,
  });
}

type TakenBack = Awaited<ReturnType<BlobObjects["takeBack"]>>;

function takeBackJob(owner: OwnerId, id: BlobId, bytes: Uint8Array): PendingJob<TakenBack> {
  return createJob<TakenBack>({
    work: async (connection, now) => {
      const { rowCount } = await execute(connection, takeBytesBack, [owner, id, bytes]);
      if (rowCount === 1) await execute(connection, giveUpObject, [owner, id, now]);
      return { status: "taken" };
    },
    failed: (failure) => failure,
  });
}

type Garbage = Awaited<ReturnType<BlobObjects["garbage"]>>;

function garbageJob(limit: number): PendingJob<Garbage> {
  return createJob<Garbage>({
    work: async (connection, now) => {
      await execute(connection, giveUpUnfinished, [now - objectWriteMs]);
      const { rows } = await execute(connection, garbageKeys, [limit]);
      return { status: "found", keys: rows.map((row) => String(row["key"])) };
    },
    failed: (failure) => failure,
  });
}

type Forgotten = Awaited<ReturnType<BlobObjects["forget"]>>;

function forgetJob(keys: readonly string[]): PendingJob<Forgotten> {
  return createJob<Forgotten>({
    work: async (connection) => {
      await execute(connection, forgetObjects, [keys]);
      return { status: "forgotten" };
    },
    failed: (failure) => failure,
  });
}
