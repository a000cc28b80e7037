import { type EventId, roleOf, type RunId, type Seq, type StoredEvent } from "@holdfast/protocol";

import { decodePayload, encodePayload } from "../shared/index.ts";
import { int, text, textOrNull } from "./columns.ts";
import type { Connection, Row } from "./connection.ts";

export type EventRead =
  | { readonly status: "intact"; readonly event: StoredEvent }
  | {
      readonly status: "damaged";
      readonly seq: number;
      readonly id: string;
      readonly problem: string;
    };

export function decodeEventRow(row: Row): EventRead {
  const payload = decodePayload(text(row, "data"), int(row, "sum"));
  if (payload.status === "damaged") {
    return {
      status: "damaged",
      seq: int(row, "seq"),
      id: text(row, "id"),
      problem: payload.problem,
    };
  }
  const runId = textOrNull<RunId>(row, "run_id");
  const event: StoredEvent = {
    seq: int(row, "seq") as Seq,
    id: text<EventId>(row, "id"),
    type: text(row, "type"),
    v: int(row, "v"),
    at: int(row, "at"),
    ...(runId !== null && { runId }),
    ...(row["quiet"] === 1 && { quiet: true }),
    data: payload.data,
  };
  return { status: "intact", event };
}

/** The same for the log and for deltas. */
export const eventColumns = "seq, id, type, v, at, run_id, quiet, sum, data";

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

/** Hangs a delta on the session's chain and returns the chain's new end. */
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

/** A chain from its end backwards, down to the first number that is not wanted. */
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

export function readChain(connection: Connection, lastDelta: number | null, after: number): Row[] {
  if (lastDelta === null) return [];
  return connection.sql(chainSql).all(lastDelta, after).toReversed();
}
