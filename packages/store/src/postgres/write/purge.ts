import { blobsIn, type PurgeResult } from "@holdfast/engine";
import { decodeEvent, type OwnerId, type SessionId } from "@holdfast/protocol";

import { type Connection, execute, statement } from "../connection.ts";
import { decodeEventRow, eventColumns } from "../rows/events.ts";
import { createJob, type PendingJob } from "./jobs.ts";

/** P13: only what is in the trash can be purged, and that it was is kept. */
export function purgeJob(owner: OwnerId, id: SessionId): PendingJob<PurgeResult> {
  return createJob<PurgeResult>({
    work: async (session, now) => {
      await execute(session, lockLogs, [id]);
      const { rows } = await execute(session, trashed, [owner, id]);
      if (rows[0] === undefined) {
        // Sent again after its answer was lost: it is told what the first purge did.
        const earlier = await execute(session, earlierPurge, [owner, id]);
        if (earlier.rows[0] === undefined) return { status: "refused", code: "session_not_found" };
        return { status: "purged", events: Number(earlier.rows[0]["events"]) };
      }
      if (rows[0]["trashed_at"] === null) return { status: "refused", code: "session_not_trashed" };
      const events = await purge(session, owner, id);
      await execute(session, keepPurge, [id, owner, now, events]);
      return { status: "purged", events };
    },
    failed: (failure) => failure,
  });
}

// With the logs that it reads: a purge of one of those comes before this one or after it.
const lockLogs = statement(
  "lock_logs",
  `SELECT session_id FROM heads
    WHERE session_id = $1 OR session_id IN (SELECT log_id FROM branches WHERE session_id = $1)
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

async function purge(session: Connection, owner: OwnerId, id: SessionId): Promise<number> {
  for (const table of derivedTables) {
    await session.query({ text: `DELETE FROM ${table} WHERE session_id = $1`, values: [id] });
  }
  await execute(session, dropSession, [id]);
  const deltas = (await execute(session, dropDeltas, [id])).rowCount ?? 0;
  const origins = await execute(session, leaveOrigins, [id]);
  const events = await deleteUnread(session, owner, id);
  // A branch that is gone may have been the last reader of a log that was purged before it.
  for (const { log_id } of origins.rows) await deleteUnread(session, owner, String(log_id));
  return events + deltas;
}

/** Answers those logs whose own session is gone. Locked, so that two branches that go together see each other go. */
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

/** Deletes the events of a log that no branch reads, and lets go of their blobs. */
async function deleteUnread(session: Connection, owner: OwnerId, log: string): Promise<number> {
  const refs = new Map<string, number>();
  for (const row of (await execute(session, namingBlobs, [log])).rows) {
    const read = decodeEventRow(row);
    const decoded = read.status === "intact" ? decodeEvent(read.event) : undefined;
    if (decoded?.kind !== "known") continue;
    for (const blob of blobsIn(decoded.event)) refs.set(blob, (refs.get(blob) ?? 0) + 1);
  }
  const counts = [...refs].map(([id, count]) => ({ id, count }));
  if (counts.length > 0) await execute(session, dropRefs, [owner, JSON.stringify(counts)]);
  return (await execute(session, deleteEvents, [log])).rowCount ?? 0;
}
