import { roleOf, type SessionId, type StoredEvent } from "@holdfast/protocol";
import { type EventRead, type EventRow, events, fromEventRow } from "../schema/tables.ts";
import type { LinkedRow } from "../shared/hash-chain.ts";
import { insertRows, type Row, type Connection, execute, statement } from "./connection.ts";
import { checkedDecoder, encoder, namesOf, shapeOf, type StoredSession } from "./rows.ts";
import type { EntryPage, EntryQuery, RunRow, SessionRow } from "@holdfast/engine";

/** The same in `events` and `deltas`. */
export const eventColumns = namesOf(events.columns).join(", ");

export const insertEvents = insertRows("events", `session_id, entry, link, ${eventColumns}`);
export const insertDeltas = insertRows("deltas", `session_id, ${eventColumns}`);

const shape = shapeOf(events);
const decodeRow = checkedDecoder(events);
const encodeRow = encoder(events);

/** The columns as they are, for what looks at a row that may be damaged. */
export function readEventRow(row: Row): EventRow {
  return decodeRow(row);
}

export function decodeEventRow(row: Row): EventRead {
  const parsed = shape.safeParse(row);
  if (parsed.success) return fromEventRow(decodeRow(parsed.data));
  const { message: problem } = parsed.error;
  return { status: "damaged", seq: Number(row["seq"]), id: String(row["id"]), problem };
}

/** Skips damaged rows; `fsck` reports them. */
export function decodeEvents(rows: readonly Row[]): StoredEvent[] {
  return rows.flatMap((row) => {
    const decoded = decodeEventRow(row);
    return decoded.status === "intact" ? [decoded.event] : [];
  });
}

export function encodeDelta(session: SessionId, row: EventRow): Row {
  return { session_id: session, ...encodeRow(row) };
}

export function encodeEvent(session: SessionId, { row, link }: LinkedRow): Row {
  return { ...encodeDelta(session, row), entry: roleOf(row) === "entry", link };
}

// A log that a branch refers to is read only if it has the same owner, whether live or purged.
const newestEntries = statement(
  "newest_entries",
  `SELECT e.* FROM json_to_recordset($1) AS r (place bigint, log text, lo bigint, hi bigint)
    CROSS JOIN LATERAL (
      SELECT ${eventColumns} FROM events
       WHERE session_id = r.log AND entry AND seq BETWEEN r.lo AND r.hi AND seq < $2
       ORDER BY seq DESC LIMIT $3) e
    WHERE $4 IN ((SELECT owner_id FROM sessions WHERE id = r.log),
                 (SELECT owner_id FROM purges WHERE session_id = r.log))
    ORDER BY r.place DESC, e.seq DESC LIMIT $3`,
);

/** Most conversations are one range; one that was cut often has many, and the newest few are read first. */
const rangesPerQuery = 16;

export async function readEntries(
  connection: Connection,
  row: SessionRow,
  { before = Number.MAX_SAFE_INTEGER as EntryQuery["before"], limit }: EntryQuery,
): Promise<EntryPage> {
  const entryRows: Row[] = [];
  const ranges = row.ranges.map(({ from, to, log }, position) => ({
    place: position,
    log: log ?? row.id,
    lo: from,
    hi: to ?? Number.MAX_SAFE_INTEGER,
  }));
  for (let end = ranges.length; end > 0 && entryRows.length <= limit; end -= rangesPerQuery) {
    const batch = JSON.stringify(ranges.slice(Math.max(0, end - rangesPerQuery), end));
    const wanted = limit + 1 - entryRows.length;
    const { rows } = await execute(connection, newestEntries, [
      batch,
      before ?? null,
      wanted,
      row.owner,
    ]);
    entryRows.push(...rows);
  }
  const rows = entryRows.slice(0, limit).toReversed();
  return { entries: decodeEvents(rows), more: entryRows.length > limit };
}

const journalOfRun = statement(
  "journal",
  `(SELECT ${eventColumns} FROM events WHERE session_id = $1 AND seq >= $2 AND run_id = $3 AND NOT entry)
   UNION ALL
   (SELECT ${eventColumns} FROM deltas WHERE session_id = $1 AND seq >= $2 AND seq > $4 AND run_id = $3)
   ORDER BY seq`,
);

export async function readJournal(
  connection: Connection,
  { row, settledUpto }: StoredSession,
  live: RunRow,
): Promise<readonly StoredEvent[]> {
  const { rows } = await execute(connection, journalOfRun, [
    row.id,
    live.journalFrom,
    live.id,
    settledUpto,
  ]);
  return decodeEvents(rows).filter((event) => roleOf(event) !== "meta");
}
