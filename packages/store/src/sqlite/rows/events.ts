import { roleOf, type StoredEvent } from "@holdfast/protocol";

import { type EventRead, events, fromEventRow, toEventRow } from "../../schema/events.ts";
import type { Cells, Connection } from "../connection.ts";
import { decoderByName, decoderByPosition, encoder, type Row } from "./tables.ts";

const columnNames = events.columns.map(({ name }) => name);
/** The same for the log and for deltas. */
export const eventColumns = columnNames.join(", ");

const rowByName = decoderByName(events);
const rowByPosition = decoderByPosition(events);
const cellsOf = encoder(events);

export function decodeEventRow(row: Row): EventRead {
  return fromEventRow(rowByName(row));
}

/** Takes the values of `eventColumns`, in that order. */
export function decodeEventCells(cells: Cells): EventRead {
  return fromEventRow(rowByPosition(cells));
}

function insertInto(table: string, ...others: readonly string[]): string {
  const names = [...others, ...columnNames];
  return `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
}

const insertEvent = insertInto("events", "session_key", "entry");

export function appendEvent(connection: Connection, key: number, event: StoredEvent): void {
  const entry = Number(roleOf(event) === "entry");
  connection.sql(insertEvent).run(key, entry, ...cellsOf(toEventRow(event)));
}

const insertDelta = insertInto("deltas", "prev", "session_key");

/** Appends a delta to the session's chain and returns the new end of the chain. */
export function appendDelta(
  connection: Connection,
  key: number,
  prev: number | null,
  event: StoredEvent,
): number {
  const cells = cellsOf(toEventRow(event));
  return Number(connection.sql(insertDelta).run(prev, key, ...cells).lastInsertRowid);
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
