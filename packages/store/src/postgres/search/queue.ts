import { z } from "zod";
import { type Connection, execute, noQueryTimeout, statement } from "../connection.ts";
import { logs } from "./index-sessions.ts";

/** Limits per transaction. A session that was written to often has several rows. */
const rowsPerBatch = 200;
const sessionsPerBatch = 20;

/** Stands for all sessions whose index is behind their log. */
const anySession = "*";

// Skips what other hosts are indexing. The sessions that it leaves are free again once this transaction ends.
const takeRows = statement(
  "search_take",
  `WITH oldest AS (
     SELECT pos, session_id FROM search_queue ORDER BY pos LIMIT ${rowsPerBatch} FOR UPDATE SKIP LOCKED),
   taken AS (
     SELECT session_id FROM oldest GROUP BY session_id ORDER BY min(pos) LIMIT ${sessionsPerBatch})
   DELETE FROM search_queue q USING oldest o
    WHERE q.pos = o.pos AND o.session_id IN (SELECT session_id FROM taken)
   RETURNING q.pos, q.session_id, (SELECT count(*) FROM oldest) AS seen`,
);
const putBack = statement(
  "search_put_back",
  `INSERT INTO search_queue (pos, session_id) OVERRIDING SYSTEM VALUE
   SELECT * FROM unnest($1::bigint[], $2::text[])`,
);
const putLast = statement(
  "search_put_last",
  `INSERT INTO search_queue (session_id) SELECT unnest($1::text[])`,
);
const putAny = statement(
  "search_put_any",
  `INSERT INTO search_queue (session_id) VALUES ('${anySession}')`,
);
const putBehind = statement(
  "search_put_behind",
  `INSERT INTO search_queue (session_id)
   SELECT l.id FROM (${logs}) l LEFT JOIN search_state st ON st.session_id = l.id
    WHERE st.session_id IS NULL OR st.indexed_seq < l.head
   UNION ALL
   SELECT st.session_id FROM search_state st
    WHERE NOT EXISTS (SELECT 1 FROM heads h WHERE h.session_id = st.session_id)`,
);
export const newestPosition = statement(
  "search_newest_position",
  `SELECT coalesce(max(pos), 0) AS pos FROM search_queue`,
);
export const hasRowsUpTo = statement(
  "search_has_rows",
  `SELECT EXISTS (SELECT 1 FROM search_queue WHERE pos <= $1) AS found`,
);

const takenRow = z.object({ pos: z.int(), session_id: z.string(), seen: z.int() });

export interface Taken {
  /** With the position at which each was queued. */
  readonly sessions: ReadonlyMap<string, number>;
  /** Whether all sessions have to be compared with their logs. */
  readonly any: boolean;
  /** Whether there was more than one transaction may take. */
  readonly more: boolean;
}

/** Takes sessions off the queue, unless the transaction is rolled back. */
export async function takeSessions(connection: Connection): Promise<Taken> {
  const { rows } = await execute(connection, takeRows, []);
  const taken = rows.map((row) => takenRow.parse(row));
  const sessions = new Map(taken.map(({ pos, session_id }) => [session_id, pos]));
  const any = sessions.delete(anySession);
  const seen = taken[0]?.seen ?? 0;
  return { sessions, any, more: seen === rowsPerBatch || taken.length < seen };
}

/** They keep their place. */
export async function putSessionsBack(
  connection: Connection,
  sessions: readonly string[],
  { sessions: positions }: Taken,
): Promise<void> {
  const places = sessions.map((session) => positions.get(session) ?? 0);
  await execute(connection, putBack, [places, sessions]);
}

/** So that they keep no other from its turn. */
export async function putSessionsLast(
  connection: Connection,
  sessions: readonly string[],
): Promise<void> {
  await execute(connection, putLast, [sessions]);
}

export async function queueAll(connection: Connection): Promise<void> {
  await execute(connection, putAny, []);
}

/** Queues all sessions whose index is behind. Reads every session, so it has no time limit. */
export async function queueBehind(connection: Connection): Promise<void> {
  await connection.query({ text: "SET LOCAL statement_timeout = 0" });
  await connection.query({ ...putBehind, ...noQueryTimeout });
}
