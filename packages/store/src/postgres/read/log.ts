import type {
  EntryPage,
  EntryQuery,
  EventPage,
  EventQuery,
  RunRow,
  SessionRow,
} from "@holdfast/engine";
import { type OwnerId, roleOf, seq, type SessionId, type StoredEvent } from "@holdfast/protocol";

import { type Row, type Connection, execute, statement } from "../connection.ts";
import { decodeEvents, eventColumns } from "../rows/events.ts";
import { type StoredSession } from "../rows/sessions.ts";
import type { ReaderPool } from "./reader-pool.ts";

const eventPage = statement(
  "event_page",
  `SELECT h.head, e.* FROM sessions s
     JOIN heads h ON h.session_id = s.id
     LEFT JOIN LATERAL (
       (SELECT ${eventColumns} FROM events
         WHERE session_id = s.id AND seq > $3 AND seq <= $4 ORDER BY seq LIMIT $5)
       UNION ALL
       (SELECT ${eventColumns} FROM deltas
         WHERE session_id = s.id AND seq > greatest($3, h.settled_upto) AND seq <= $4 ORDER BY seq LIMIT $5)
       ORDER BY seq LIMIT $5) e ON true
    WHERE s.id = $2 AND s.owner_id = $1
    ORDER BY e.seq`,
);

export async function readEvents(
  pool: ReaderPool,
  owner: OwnerId,
  id: SessionId,
  { after, upTo, limit }: EventQuery,
): Promise<EventPage | null> {
  const last = upTo ?? Number.MAX_SAFE_INTEGER;
  const rows = await pool.rows(eventPage, [owner, id, after, last, limit + 1]);
  const [first] = rows;
  if (first === undefined) return null;
  const events = rows.filter((row) => row["seq"] !== null);
  return {
    events: decodeEvents(events.slice(0, limit)),
    head: seq.parse(first["head"]),
    more: events.length > limit,
  };
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
