import type { PurgeResult } from "@holdfast/engine";
import { blobsIn } from "@holdfast/engine/log";
import { decodeEvent, type OwnerId, type SessionId } from "@holdfast/protocol";

import type { Connection } from "../connection.ts";
import { decodeEventRow, eventColumns, lastPosition } from "../events.ts";
import { readSession } from "../rows.ts";
import type { SessionCache } from "./group-writer.ts";

const derivedTables =
  "live runs inputs approvals marks memory_tries outbox lanes leases fences session_tags requests".split(
    " ",
  );

const insertPurge = `
  INSERT INTO purges (session_id, session_key, owner_id, at, events, last_pos) VALUES (?, ?, ?, ?, ?, ?)`;

/** P13: only a trashed session can be purged, and `purges` records that it was. */
export function purgeSession(
  connection: Connection,
  cache: SessionCache,
  request: { readonly owner: OwnerId; readonly session: SessionId },
  now: number,
): PurgeResult {
  const { owner, session: id } = request;
  const session = readSession(connection, id);
  if (session === null || session.row.owner !== owner) {
    const earlier = connection
      .sql("SELECT events FROM purges WHERE session_id = ? AND owner_id = ?")
      .get(id, owner);
    if (earlier !== undefined) return { status: "purged", events: Number(earlier["events"]) };
    return { status: "refused", code: "session_not_found" };
  }
  if (session.row.trashedAt === null) return { status: "refused", code: "session_not_trashed" };

  const { key, lastDelta } = session;
  if (lastDelta !== null)
    connection.sql("INSERT INTO settled_chains VALUES (?, ?)").run(lastDelta, key);
  for (const table of derivedTables) {
    connection.sql(`DELETE FROM ${table} WHERE session_key = ?`).run(key);
  }
  connection.sql("DELETE FROM sessions WHERE key = ?").run(key);
  const lastPos = Number(connection.sql(`SELECT ${lastPosition} AS pos`).get()?.["pos"]);
  const events = deleteLog(connection, owner, key, lastSeqReadByBranches(connection, id));
  connection.sql(insertPurge).run(id, key, owner, now, events, lastPos);
  deleteUnreadOrigins(connection, owner, key);
  cache.forget(id);
  return { status: "purged", events };
}

/** The last seq of a log that some branch still reads. */
function lastSeqReadByBranches(connection: Connection, log: SessionId): number {
  const row = connection.sql("SELECT max(upto) AS upto FROM branches WHERE log_id = ?").get(log);
  return Number(row?.["upto"] ?? 0);
}

/** Deletes the events after `keep` and drops their blob references. */
function deleteLog(connection: Connection, owner: OwnerId, key: number, keepUpTo: number): number {
  const release = connection.sql(
    "UPDATE blobs SET refs = refs - 1 WHERE owner_id = ? AND id = ? AND refs > 0",
  );
  const rows = connection
    .sql(
      `SELECT ${eventColumns} FROM events WHERE session_key = ? AND seq > ? AND data LIKE '%blob\\_%' ESCAPE '\\'`,
    )
    .all(key, keepUpTo);
  for (const row of rows) {
    const decodedRow = decodeEventRow(row);
    const decoded = decodedRow.status === "intact" ? decodeEvent(decodedRow.event) : undefined;
    if (decoded?.kind === "known")
      for (const blob of blobsIn(decoded.event)) release.run(owner, blob);
  }
  const { changes } = connection
    .sql("DELETE FROM events WHERE session_key = ? AND seq > ?")
    .run(key, keepUpTo);
  return Number(changes);
}

/** The deleted branch may have been the last reader of a log that was purged earlier. */
function deleteUnreadOrigins(connection: Connection, owner: OwnerId, key: number): void {
  const origins = connection
    .sql(
      `SELECT p.session_id, p.session_key FROM branches b JOIN purges p ON p.session_id = b.log_id
        WHERE b.session_key = ?`,
    )
    .all(key);
  connection.sql("DELETE FROM branches WHERE session_key = ?").run(key);
  for (const origin of origins) {
    const upto = connection
      .sql("SELECT max(upto) AS upto FROM branches WHERE log_id = ?")
      .get(String(origin["session_id"]));
    deleteLog(connection, owner, Number(origin["session_key"]), Number(upto?.["upto"] ?? 0));
  }
}
