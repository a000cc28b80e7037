import { type EventId, roleOf, type RunId, type Seq, type StoredEvent } from "@holdfast/protocol";

import { decodePayload, encodePayload } from "../../schema/payload.ts";
import { bool, int, text, textOrNull } from "./columns.ts";
import type { Cells, Connection, Row } from "../connection.ts";

export type EventRead =
  | { readonly status: "intact"; readonly event: StoredEvent }
  | {
      readonly status: "damaged";
      readonly seq: number;
      readonly id: string;
      readonly problem: string;
    };

const columnNames = ["seq", "id", "type", "v", "at", "run_id", "quiet", "sum", "data"] as const;
/** The same for the log and for deltas. */
export const eventColumns = columnNames.join(", ");

export function decodeEventRow(row: Row): EventRead {
  return decodeEventCells(columnNames.map((column) => row[column] ?? null));
}

/** Takes the values of `eventColumns`, in that order. */
export function decodeEventCells(cells: Cells): EventRead {
  const seq = int(cells, 0) as Seq;
  const id = text<EventId>(cells, 1);
  const payload = decodePayload(text(cells, 8), int(cells, 7));
  if (payload.status === "damaged") return { status: "damaged", seq, id, problem: payload.problem };
  const runId = textOrNull<RunId>(cells, 5);
  const { data } = payload;
  const [type, v, at] = [text(cells, 2), int(cells, 3), int(cells, 4)];
  const event: StoredEvent =
    runId === null ? { seq, id, type, v, at, data } : { seq, id, type, v, at, runId, data };
  return { status: "intact", event: bool(cells, 6) ? { ...event, quiet: true } : event };
}

const insertEvent = `
  INSERT INTO events (session_key, seq, id, type, v, at, run_id, entry, quiet, sum, data)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function appendEvent(connection: Connection, key: number, event: StoredEvent): void {
  const { seq, id, type, v, at, runId = null } = event;
  const payload = encodePayload(event.data);
  const entry = Number(roleOf(event) === "entry");
  const quiet = Number(event.quiet === true);
  connection
    .sql(insertEvent)
    .run(key, seq, id, type, v, at, runId, entry, quiet, payload.sum, payload.text);
}

const insertDelta = `
  INSERT INTO deltas (prev, session_key, seq, id, type, v, at, run_id, quiet, sum, data)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Appends a delta to the session's chain and returns the new end of the chain. */
export function appendDelta(
  connection: Connection,
  key: number,
  prev: number | null,
  event: StoredEvent,
): number {
  const { seq, id, type, v, at, runId = null } = event;
  const payload = encodePayload(event.data);
  const quiet = Number(event.quiet === true);
  const { lastInsertRowid } = connection
    .sql(insertDelta)
    .run(prev, key, seq, id, type, v, at, runId, quiet, payload.sum, payload.text);
  return Number(lastInsertRowid);
}

/** Walks a chain backwards from its end to the first seq that isn't wanted. */
const chainSql = `
  WITH RECURSIVE chain (pos) AS (
    SELECT pos FROM deltas WHERE pos = ?1 AND seq > ?2
    UNION ALL
    SELECT older.pos FROM chain
      JOIN deltas newer ON newer.pos = chain.pos
      JOIN deltas older ON older.pos = newer.prev
     WHERE older.seq > ?2
  )
  SELECT ${eventColumns} FROM chain JOIN deltas USING (pos)`;

export function readChain(
  connection: Connection,
  lastDelta: number | null,
  after: number,
): Cells[] {
  return lastDelta === null ? [] : connection.cells(chainSql, lastDelta, after).toReversed();
}

/** A page of a chain, newest first, and where it continues: `null` at the chain's beginning. */
export interface ChainPart {
  readonly rows: readonly Cells[];
  readonly older: number | null;
}

export function readChainPart(connection: Connection, from: number, limit: number): ChainPart {
  const adjacent = readAdjacent(connection, from, limit);
  if (adjacent.older === null || adjacent.rows.length >= limit / 4) return adjacent;
  const rest = followChain(connection, adjacent.older, limit - adjacent.rows.length);
  return { rows: [...adjacent.rows, ...rest.rows], older: rest.older };
}

const adjacentSql = `
  SELECT ${eventColumns}, prev, pos FROM deltas
   WHERE pos <= ?1 AND pos > ?1 - ?2 AND session_key = (SELECT session_key FROM deltas WHERE pos = ?1)
   ORDER BY pos DESC`;

/**
 * A session that streams alone has adjacent rows: one range scan finds what would otherwise be followed step by step.
 */
function readAdjacent(connection: Connection, from: number, limit: number): ChainPart {
  const rows: Cells[] = [];
  let older: number | null = from;
  for (const row of connection.cells(adjacentSql, from, limit)) {
    if (older === null) break;
    if (row[columnNames.length + 1] !== older) continue;
    rows.push(row);
    older = previousOf(row);
  }
  return { rows, older };
}

const chainPartSql = `
  WITH RECURSIVE chain (pos, prev) AS (
    SELECT pos, prev FROM deltas WHERE pos = ?
    UNION ALL
    SELECT older.pos, older.prev FROM chain JOIN deltas older ON older.pos = chain.prev
    LIMIT ? + 0
  )
  SELECT ${eventColumns}, d.prev FROM chain JOIN deltas d USING (pos)`;

function followChain(connection: Connection, from: number, limit: number): ChainPart {
  const rows = connection.cells(chainPartSql, from, limit);
  const last = rows.at(-1);
  return { rows, older: last === undefined ? null : previousOf(last) };
}

/** `prev` follows the event's own columns. */
function previousOf(row: Cells): number | null {
  const prev = row[columnNames.length] ?? null;
  return prev === null ? null : Number(prev);
}
