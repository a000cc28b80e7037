import type { RequestRow } from "@holdfast/engine";
import { answerRetentionMs } from "@holdfast/engine/ports";

import type { Connection } from "../connection.ts";
import { decodeRequest, requestByKey } from "../rows/request-row.ts";

/** One whose time is over makes room for the next under its key. */
const insertRequest = `
  INSERT INTO requests (owner_id, key, hash, session_key, answer, at)
  SELECT ?1, ?2, ?3, (SELECT key FROM sessions WHERE id = ?4), ?5, ?6
   WHERE ?4 IS NULL OR EXISTS (SELECT 1 FROM sessions WHERE id = ?4)
  ON CONFLICT (owner_id, key) DO UPDATE
    SET hash = excluded.hash, session_key = excluded.session_key, answer = excluded.answer, at = excluded.at
  WHERE requests.at <= excluded.at - ${answerRetentionMs}`;

export function keepRequest(
  connection: Connection,
  request: Omit<RequestRow, "at">,
  at: number,
): { status: "kept"; row: RequestRow } {
  const { owner, key, hash, session, answer } = request;
  connection.sql(insertRequest).run(owner, key, hash, session, answer, at);
  const row = connection.sql(requestByKey).get(owner, key, at - answerRetentionMs);
  return { status: "kept", row: row === undefined ? { ...request, at } : decodeRequest(row) };
}

export function deleteExpiredRequests(connection: Connection, limit: number, now: number): number {
  const { changes } = connection
    .sql(
      `DELETE FROM requests WHERE (owner_id, key) IN (
         SELECT owner_id, key FROM requests WHERE at <= ? ORDER BY at LIMIT ? + 0)`,
    )
    .run(now - answerRetentionMs, limit);
  return Number(changes);
}
