import { answerRetentionMs, keptBlobPrefix, keptByNobody, type Store } from "@holdfast/engine";

import { type Connection, execute, statement } from "../connection.ts";
import { createJob, type PendingJob } from "./jobs.ts";

/** An unreferenced blob may be deleted once it is this old: long enough for the message that will refer to it. */
const blobGraceMs = 24 * 60 * 60 * 1000;

// Locked, so that a concurrent settlement waits and its row survives.
const pickSettled = statement(
  "pick_settled",
  `SELECT session_id, upto FROM settled ORDER BY session_id LIMIT $1 FOR UPDATE SKIP LOCKED`,
);
const pruneDeltas = statement(
  "prune_deltas",
  `DELETE FROM deltas d USING (
     SELECT o.session_id, o.seq FROM json_populate_recordset(null::settled, $1) s
       JOIN deltas o ON o.session_id = s.session_id AND o.seq <= s.upto LIMIT $2) gone
    WHERE d.session_id = gone.session_id AND d.seq = gone.seq`,
);
const deleteSettledMarks = statement(
  "forget_settled",
  `DELETE FROM settled s USING json_populate_recordset(null::settled, $1) x
    WHERE s.session_id = x.session_id
      AND NOT EXISTS (SELECT 1 FROM deltas d WHERE d.session_id = x.session_id AND d.seq <= x.upto)`,
);
const deleteUnreferencedBlobs = statement(
  "collect_blobs",
  `DELETE FROM blobs b USING (
     SELECT o.owner_id, o.id FROM blobs o
      WHERE o.refs = 0 AND o.created_at <= $1
        AND NOT EXISTS (SELECT 1 FROM register r
                         WHERE r.owner_id = o.owner_id AND r.key = $3 || o.id AND r.value <> $4)
      ORDER BY o.created_at LIMIT $2 FOR UPDATE OF o SKIP LOCKED) gone
    WHERE b.owner_id = gone.owner_id AND b.id = gone.id`,
);

const deleteExpiredRequests = statement(
  "forget_requests",
  `DELETE FROM requests r USING (
     SELECT owner_id, key FROM requests WHERE at <= $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED) gone
    WHERE r.owner_id = gone.owner_id AND r.key = gone.key`,
);

type PruneResult = Awaited<ReturnType<Store["prune"]>>;

/** At most `limit` rows, so that nobody waits long for it. */
export function pruneJob(limit: number): PendingJob<PruneResult> {
  return createJob<PruneResult>({
    work: async (connection, now) => {
      const deltas = await pruneSettledDeltas(connection, limit);
      const blobs = await execute(connection, deleteUnreferencedBlobs, [
        now - blobGraceMs,
        limit - deltas,
        keptBlobPrefix,
        keptByNobody,
      ]);
      const rows = deltas + (blobs.rowCount ?? 0);
      const answers = await execute(connection, deleteExpiredRequests, [
        now - answerRetentionMs,
        limit - rows,
      ]);
      return { status: "pruned", rows: rows + (answers.rowCount ?? 0) };
    },
    failed: (failure) => failure,
  });
}

async function pruneSettledDeltas(connection: Connection, limit: number): Promise<number> {
  const { rows } = await execute(connection, pickSettled, [limit]);
  if (rows.length === 0) return 0;
  const settled = JSON.stringify(rows);
  const { rowCount } = await execute(connection, pruneDeltas, [settled, limit]);
  await execute(connection, deleteSettledMarks, [settled]);
  return rowCount ?? 0;
}
