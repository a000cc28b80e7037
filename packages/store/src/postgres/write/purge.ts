import { blobsIn, type PurgeResult } from "@holdfast/engine";
import { decodeEvent, type OwnerId, type SessionId } from "@holdfast/protocol";

import { type Connection, execute, statement } from "../connection.ts";
import { decodeEventRow, eventColumns } from "../events.ts";
import { createJob, type PendingJob } from "./jobs.ts";

/** P13: only a trashed session can be purged, and `purges` records that it was. */
export function purgeJob(owner: OwnerId, id: SessionId): PendingJob<PurgeResult> {
  return createJob<PurgeResult>({
    work: async (connection, now) => {
      await execute(connection, lockLogs, [id]);
      const { rows } = await execute(connection, trashed, [owner, id]);
      if (rows[0] === undefined) {
        // A retry after a lost reply gets the result of the first purge.
        const earlier = await execute(connection, earlierPurge, [owner, id]);
        if (earlier.rows[0] === undefined) return { status: "refused", code: "session_not_found" };
        return { status: "purged", events: Number(earlier.rows[0]["events"]) };
      }
      if (rows[0]["trashed_at"] === null) return { status: "refused", code: "session_not_trashed" };
      const events = await purge(connection, owner, id);
      await execute(connection, keepPurge, [id, owner, now, events]);
      return { status: "purged", events };
    },
    failed: (failure) => failure,
  });
}

// Also locks the logs that it reads, so that their purges come either before or after this one. An array, because an
// OR with a subquery reads every head.
const lockLogs = statement(
  "lock_logs",
  `SELECT session_id FROM heads
    WHERE session_id = ANY(ARRAY(SELECT $1 UNION ALL SELECT log_id FROM branches WHERE session_id = $1))
    ORDER BY session_id FOR UPDATE`,
);
const trashed = statement(
  "trashed",
  `SELECT trashed_at FROM sessions WHERE id = $2 AND owner_id = $1`,
);
const earlierPurge = statement(
  "earlier_purge",
  `SELECT events FROM purges WHERE session_id = $2 AND owner_id = $1`,
);
const keepPurge = statement(
  "keep_purge",
  `INSERT INTO purges (session_id, owner_id, at, events) VALUES ($1, $2, $3, $4)`,
);
const derivedTables =
  "heads session_tags runs inputs approvals marks memory_tries outbox lanes leases fences settled requests".split(
    " ",
  );
const dropSession = statement("drop_session", `DELETE FROM sessions WHERE id = $1`);
const dropDeltas = statement("drop_deltas", `DELETE FROM deltas WHERE session_id = $1`);

async function purge(connection: Connection, owner: OwnerId, id: SessionId): Promise<number> {
  for (const table of derivedTables) {
    await connection.query({ text: `DELETE FROM ${table} WHERE session_id = $1`, values: [id] });
  }
  await execute(connection, dropSession, [id]);
  const deltas = (await execute(connection, dropDeltas, [id])).rowCount ?? 0;
  const origins = await execute(connection, leaveOrigins, [id]);
  const events = await deleteUnread(connection, owner, id);
  // The deleted branch may have been the last reader of a log that was purged earlier.
  for (const { log_id } of origins.rows) await deleteUnread(connection, owner, String(log_id));
  return events + deltas;
}

/** Returns those logs whose own session is gone. Locked, so that two branches purged at once see each other. */
const leaveOrigins = statement(
  "leave_origins",
  `WITH gone AS (DELETE FROM branches WHERE session_id = $1 RETURNING log_id)
   SELECT g.log_id FROM gone g JOIN purges p ON p.session_id = g.log_id ORDER BY g.log_id FOR UPDATE OF p`,
);

const namingBlobs = statement(
  "events_naming_blobs",
  `SELECT ${eventColumns} FROM events
    WHERE session_id = $1 AND data LIKE '%blob\\_%'
      AND seq > (SELECT coalesce(max(upto), 0) FROM branches WHERE log_id = $1)`,
);
const deleteEvents = statement(
  "delete_unread_events",
  `DELETE FROM events
    WHERE session_id = $1 AND seq > (SELECT coalesce(max(upto), 0) FROM branches WHERE log_id = $1)`,
);
const dropRefs = statement(
  "drop_refs",
  `UPDATE blobs b SET refs = greatest(b.refs - x.count, 0)
     FROM json_to_recordset($2) AS x (id text, count bigint) WHERE b.owner_id = $1 AND b.id = x.id`,
);

/** Deletes the events of a log that no branch reads, and drops their blob references. */
async function deleteUnread(connection: Connection, owner: OwnerId, log: string): Promise<number> {
  const refs = new Map<string, number>();
  for (const row of (await execute(connection, namingBlobs, [log])).rows) {
    const decodedRow = decodeEventRow(row);
    const decoded = decodedRow.status === "intact" ? decodeEvent(decodedRow.event) : undefined;
    if (decoded?.kind !== "known") continue;
    for (const blob of blobsIn(decoded.event)) refs.set(blob, (refs.get(blob) ?? 0) + 1);
  }
  const counts = [...refs].map(([id, count]) => ({ id, count }));
  if (counts.length > 0) await execute(connection, dropRefs, [owner, JSON.stringify(counts)]);
  return (await execute(connection, deleteEvents, [log])).rowCount ?? 0;
}
