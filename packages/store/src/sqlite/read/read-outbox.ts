import type { LaneRow, OutboxQuery, OutboxRow, OutboxWork, RegisterRow } from "@holdfast/engine";
import type { OutboxState, OwnerId, Seq, SessionId } from "@holdfast/protocol";

import { int, text } from "../rows/columns.ts";
import type { Connection } from "../connection.ts";
import { decodeLane } from "../rows/tables.ts";
import { decodeOutbox } from "../rows/outbox-rows.ts";
import { decodeRegister, registerByKey } from "../rows/register-row.ts";

export interface OutboxQueries {
  lanes(owner: OwnerId, prefix: string, limit: number): LaneRow[];
  outbox(owner: OwnerId, query: OutboxQuery): OutboxRow[];
  inbound(owner: OwnerId, key: string): OutboxRow | null;
  undelivered(limit: number, now: number): OutboxWork[];
  registered(owner: OwnerId, key: string): RegisterRow | null;
  registeredUnder(owner: OwnerId, prefix: string, limit: number): RegisterRow[];
}

/** Names that begin so are a stretch of the key: up to the last of all characters. */
const startsWith = (name: string) => `${name} >= ?2 AND ${name} < ?2 || char(0x10ffff)`;
const lanesByPrefix = `
  SELECT r.*, s.id AS session_id FROM lanes r CROSS JOIN sessions s ON s.key = r.session_key
   WHERE r.owner_id = ?1 AND ${startsWith("r.lane")} ORDER BY r.at DESC, r.lane LIMIT ?3 + 0`;
const outboxChunks = `
  SELECT r.*, s.id AS session_id FROM outbox r JOIN sessions s ON s.key = r.session_key WHERE s.owner_id = ?1`;
/** From the few of all sessions that are not over to their sessions. */
const openOutboxChunks = `
  SELECT r.*, s.id AS session_id
    FROM outbox r INDEXED BY outbox_by_state CROSS JOIN sessions s ON s.key = r.session_key
   WHERE s.owner_id = ?1 AND ${isOpenState("r.state")}`;
const outboxOrder = "ORDER BY s.id, r.begun, r.delivery, r.chunk LIMIT ?2 + 0";
// The head of a session with a live run stands in `live`.
const undeliveredSessions = `
  SELECT s.owner_id, s.id, coalesce(l.head, s.head) AS head
    FROM (SELECT session_key, min(at) AS oldest FROM outbox INDEXED BY outbox_by_state
           WHERE ${isOpenState("state")} AND state IN ('pending', 'sending') AND (retry_at IS NULL OR retry_at <= ?2)
           GROUP BY session_key) o
    JOIN sessions s ON s.key = o.session_key LEFT JOIN live l ON l.session_key = s.key
   WHERE s.trashed_at IS NULL ORDER BY o.oldest, s.id LIMIT ?1 + 0`;

/** As the index of what is not over yet says it: in other words SQLite would not see that it may use it. */
function isOpenState(state: string): string {
  return `${state} IN ('pending', 'sending', 'unknown', 'failed')`;
}

const indexedStates = new Set<OutboxState>(["pending", "sending", "unknown", "failed"]);

export function outboxQueries(connection: Connection): OutboxQueries {
  return {
    lanes: (owner, prefix, limit) =>
      connection.sql(lanesByPrefix).all(owner, prefix, limit).map(decodeLane),
    outbox(owner, { session, delivery, states, limit }) {
      // Those of a session that are over stay for good, and are gone through by nobody who asks for others.
      const isNamed = session !== undefined && delivery !== undefined;
      const areOpen = !isNamed && states.every((state) => indexedStates.has(state));
      const sql = `${areOpen ? openOutboxChunks : outboxChunks} AND s.trashed_at IS NULL AND r.state IN (${states.map((state) => `'${state}'`).join(", ")})
        ${session === undefined ? "" : "AND s.id = ?3"}
        ${delivery === undefined ? "" : `AND r.delivery = ?${session === undefined ? 3 : 4}`} ${outboxOrder}`;
      const named = [session, delivery].filter((each) => each !== undefined);
      return connection
        .sql(sql)
        .all(owner, limit, ...named)
        .map(decodeOutbox);
    },
    inbound(owner, key) {
      const row = connection.sql(`${outboxChunks} AND r.inbound = ?2`).get(owner, key);
      return row === undefined ? null : decodeOutbox(row);
    },
    undelivered: (limit, now) =>
      connection
        .sql(undeliveredSessions)
        .all(limit, now)
        .map((row) => ({
          owner: text<OwnerId>(row, "owner_id"),
          session: text<SessionId>(row, "id"),
          head: int(row, "head") as Seq,
        })),
    registered(owner, key) {
      const row = connection.sql(registerByKey).get(owner, key);
      return row === undefined ? null : decodeRegister(row);
    },
    registeredUnder: (owner, prefix, limit) =>
      connection
        .sql(
          `SELECT * FROM register WHERE owner_id = ?1 AND ${startsWith("key")} ORDER BY key LIMIT ?3 + 0`,
        )
        .all(owner, prefix, limit)
        .map(decodeRegister),
  };
}
