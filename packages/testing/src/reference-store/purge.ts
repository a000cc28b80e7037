import {
  type BlobRow,
  blobsIn,
  keptBlobPrefix,
  keptByNobody,
  type PurgeResult,
} from "@holdfast/engine";
import { decodeEvent, type OwnerId, type SessionId } from "@holdfast/protocol";

import { isExpired } from "./requests.ts";
import {
  blobKeyOf,
  type Log,
  type LogRow,
  type ReferenceData,
  lastSeqReadByBranches,
  sessionOf,
} from "./data.ts";

const dayMs = 24 * 60 * 60 * 1000;

export function purgeSession(data: ReferenceData, owner: OwnerId, id: SessionId): PurgeResult {
  const earlier = data.purges.get(id);
  if (earlier?.owner === owner) return { status: "purged", events: earlier.events };
  const session = sessionOf(data, owner, id);
  if (session === null) return { status: "refused", code: "session_not_found" };
  if (session.row.trashedAt === null) return { status: "refused", code: "session_not_trashed" };

  data.sessions.delete(id);
  for (const [key, row] of data.requests) if (row.session === id) data.requests.delete(key);
  for (const [key, lane] of data.lanes) if (lane.session === id) data.lanes.delete(key);
  const events = dropUnreadRows(data, id);
  // The logs that only this session still read.
  for (const log of data.logs.keys()) if (!data.sessions.has(log)) dropUnreadRows(data, log);
  data.purges.set(id, { session: id, owner, at: data.clock(), events });
  return { status: "purged", events };
}

/** Deletes the rows that no branch reads of a log whose session is gone, and returns their number. */
function dropUnreadRows(data: ReferenceData, id: SessionId): number {
  const log = data.logs.get(id);
  if (log === undefined) return 0;
  const upTo = lastSeqReadByBranches(data, id);
  const isRead = (row: LogRow) => row.place === "log" && row.event.seq <= upTo;
  const dropped = log.rows.filter((row) => !isRead(row));
  log.rows = log.rows.filter(isRead);
  for (const row of dropped) deleteRow(data, log, row);
  if (log.rows.length === 0) data.logs.delete(id);
  return dropped.length;
}

function deleteRow(data: ReferenceData, log: Log, { event, place }: LogRow): void {
  log.byId.delete(event.id);
  const decoded = decodeEvent(event);
  if (place !== "log" || decoded.kind !== "known") return;
  for (const id of blobsIn(decoded.event)) {
    const blob = data.blobs.get(blobKeyOf(log.owner, id));
    if (blob !== undefined) blob.row = { ...blob.row, refs: blob.row.refs - 1 };
  }
}

function isKept({ register }: ReferenceData, { owner, id }: BlobRow): boolean {
  const row = register.get(`${owner} ${keptBlobPrefix}${id}`);
  return row !== undefined && row.value !== keptByNobody;
}

export function prune(data: ReferenceData, limit: number): number {
  let rows = 0;
  for (const log of data.logs.values()) {
    const settled = log.rows.filter((row) => row.place === "pruned").slice(0, limit - rows);
    for (const row of settled) deleteRow(data, log, row);
    const gone = new Set(settled);
    log.rows = log.rows.filter((row) => !gone.has(row));
    rows += settled.length;
  }
  for (const [key, { row }] of data.blobs) {
    const isOld = row.createdAt + dayMs <= data.clock();
    const unneeded = row.refs === 0 && isOld && !isKept(data, row);
    if (!unneeded || rows >= limit) continue;
    data.blobs.delete(key);
    rows += 1;
  }
  for (const [key, row] of data.requests) {
    if (rows >= limit || !isExpired(data, row)) continue;
    data.requests.delete(key);
    rows += 1;
  }
  return rows;
}
