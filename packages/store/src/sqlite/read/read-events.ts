import type { EntryQuery, EventQuery, SessionRow } from "@holdfast/engine";

import type { Connection, Row } from "../connection.ts";
import { eventColumns, readChain } from "../event-row.ts";
import type { StoredSession } from "../session-row.ts";
import { packRows, type PackedRows } from "./packed-rows.ts";

/** Pages of rows as they lie in the file. */
export interface RawEvents {
  readonly rows: PackedRows;
  readonly head: SessionRow["head"];
  readonly more: boolean;
}

export interface RawEntries {
  readonly rows: PackedRows;
  readonly more: boolean;
}

const eventsAfter = `
  SELECT ${eventColumns} FROM events WHERE session_key = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`;

/** The log and the open deltas, merged by number. */
export function readEvents(
  connection: Connection,
  session: StoredSession,
  query: EventQuery,
): RawEvents {
  const { head } = session.row;
  const upTo = Math.min(query.upTo ?? head, head);
  const rows = connection.sql(eventsAfter).all(session.key, query.after, upTo, query.limit + 1);
  const open = readChain(connection, session.lastDelta, query.after).filter(
    (row) => Number(row["seq"]) <= upTo,
  );
  const merged = open.length === 0 ? rows : [...rows, ...open].toSorted(bySeq);
  const page = merged.slice(0, query.limit);
  return { rows: packRows(page), head, more: merged.length > page.length };
}

function bySeq(a: Row, b: Row): number {
  return Number(a["seq"]) - Number(b["seq"]);
}

const entriesBefore = `
  SELECT ${eventColumns} FROM events
   WHERE session_key = ? AND entry = 1 AND seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT ?`;

/** Walks the visible ranges from the newest backwards, in whichever log each of them lies. */
export function readEntries(
  connection: Connection,
  session: StoredSession,
  query: EntryQuery,
): RawEntries {
  const rows: Row[] = [];
  const last = (query.before ?? Number.MAX_SAFE_INTEGER) - 1;
  for (const range of session.row.ranges.toReversed()) {
    if (rows.length > query.limit) break;
    const key =
      range.log === undefined
        ? session.key
        : keyOfLog(connection, { id: range.log, owner: session.row.owner });
    const to = Math.min(range.to ?? last, last);
    if (key === null || to < range.from) continue;
    rows.push(
      ...connection.sql(entriesBefore).all(key, range.from, to, query.limit + 1 - rows.length),
    );
  }
  const page = rows.slice(0, query.limit).toReversed();
  return { rows: packRows(page), more: rows.length > page.length };
}

/** A branch reads rows of its origin even when that was purged, and never those of another owner. */
function keyOfLog(
  connection: Connection,
  { id, owner }: Pick<SessionRow, "id" | "owner">,
): number | null {
  const row = connection
    .sql(
      `SELECT key FROM sessions WHERE id = ?1 AND owner_id = ?2
       UNION ALL SELECT session_key FROM purges WHERE session_id = ?1 AND owner_id = ?2`,
    )
    .get(id, owner);
  return row === undefined ? null : Number(row["key"]);
}

const journalOf = `
  SELECT ${eventColumns} FROM events
   WHERE session_key = ? AND seq >= ? AND entry = 0 AND run_id = ? ORDER BY seq`;

/** What the live run has written since its running step began. */
export function readJournal(
  connection: Connection,
  session: StoredSession,
  run: { readonly id: string; readonly journalFrom: number },
): PackedRows {
  const rows = connection.sql(journalOf).all(session.key, run.journalFrom, run.id);
  const open = readChain(connection, session.lastDelta, 0);
  return packRows([...rows, ...open].toSorted(bySeq));
}
