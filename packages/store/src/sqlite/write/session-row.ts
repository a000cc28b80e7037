import type { SessionRow } from "@holdfast/engine";

import { shelfOf } from "../../schema/tables.ts";
import type { Connection } from "../connection.ts";
import {
  insertSession,
  int,
  topOfList,
  updateSession,
  updateUnlistedColumns,
  writeTags,
} from "../rows.ts";

/**
 * A session's row is rewritten by every message, the indexes of the list only when the list's order changes: the
 * session at the top stays there, and only its `touched_at` grows. So `sort_at` is the session's place in its list, and
 * the later of both is the time that clients see. No other session may have a `touched_at` after its `sort_at`; the one
 * at the top gets its real place before another one is placed in the same list.
 */
export function createSessionRow(connection: Connection, row: SessionRow): number {
  settleTop(connection, row, null);
  const key = insertSession(connection, row);
  if (row.tags.length > 0) writeTags(connection, key, row);
  return key;
}

export function changeSessionRow(
  connection: Connection,
  key: number,
  previous: SessionRow,
  row: SessionRow,
): void {
  if (
    !isListChanged(previous, row) &&
    (isTop(connection, key, row) || row.sortAt === previous.sortAt)
  )
    updateUnlistedColumns(connection, row);
  else placeSession(connection, key, row, previous.tags.length > 0 || row.tags.length > 0);
}

/** Writes everything, and the place in the list. */
export function placeSession(
  connection: Connection,
  key: number,
  row: SessionRow,
  hasTags: boolean,
): void {
  settleTop(connection, row, key);
  updateSession(connection, row);
  if (hasTags) writeTags(connection, key, row);
}

/** Whether something changed that an index of the list depends on, other than the time. */
function isListChanged(before: SessionRow, after: SessionRow): boolean {
  return (
    before.archived !== after.archived ||
    before.trashedAt !== after.trashedAt ||
    before.pinned !== after.pinned ||
    before.project !== after.project ||
    before.tags !== after.tags ||
    before.titleSource !== after.titleSource ||
    before.lastState !== after.lastState
  );
}

function isTop(connection: Connection, key: number, row: SessionRow): boolean {
  const top = connection.sql(topOfList("s.key")).get(row.owner, shelfOf(row));
  return top !== undefined && int(top, "key") === key;
}

const topTimes = topOfList("s.key, s.sort_at, coalesce(s.touched_at, 0) AS touched_at");

function settleTop(connection: Connection, row: SessionRow, placed: number | null): void {
  const top = connection.sql(topTimes).get(row.owner, shelfOf(row));
  if (top === undefined) return;
  const [key, touchedAt] = [int(top, "key"), int(top, "touched_at")];
  if (key === placed || touchedAt <= int(top, "sort_at")) return;
  connection.sql("UPDATE sessions SET sort_at = ? WHERE key = ?").run(touchedAt, key);
  connection.sql("UPDATE session_tags SET sort_at = ? WHERE session_key = ?").run(touchedAt, key);
}
