import { eventId, roleOf, runId, seq, type StoredEvent } from "@holdfast/protocol";
import { z } from "zod";

import { decodePayload, encodePayload } from "../shared/index.ts";
import type { Connection, Row } from "./connection.ts";

const shape = z.object({
  seq,
  id: eventId,
  type: z.string(),
  v: z.int(),
  at: z.int(),
  run_id: runId.nullable(),
  quiet: z.int().optional(),
  sum: z.int(),
  data: z.string(),
});

export type EventRead =
  | { readonly status: "intact"; readonly event: StoredEvent }
  | {
      readonly status: "damaged";
      readonly seq: number;
      readonly id: string;
      readonly problem: string;
    };

export function decodeEventRow(row: Row): EventRead {
  const parsed = shape.safeParse(row);
  if (!parsed.success) {
    return {
      status: "damaged",
      seq: Number(row["seq"]),
      id: String(row["id"]),
      problem: parsed.error.message,
    };
  }
  const { run_id, quiet, sum, data: text, ...rest } = parsed.data;
  const payload = decodePayload(text, sum);
  if (payload.status === "damaged") {
    return { status: "damaged", seq: rest.seq, id: rest.id, problem: payload.problem };
  }
  const event: StoredEvent = {
    ...rest,
    ...(run_id !== null && { runId: run_id }),
    ...(quiet === 1 && { quiet: true }),
    data: payload.data,
  };
  return { status: "intact", event };
}

export const eventColumns = "seq, id, type, v, at, run_id, quiet, sum, data";
export const deltaColumns = "seq, id, type, v, at, run_id, sum, data";

const insertEvent = `
  INSERT INTO events (session_key, seq, id, type, v, at, run_id, entry, quiet, sum, data)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function appendEvent(connection: Connection, key: number, event: StoredEvent): void {
  const { text, sum } = encodePayload(event.data);
  connection
    .sql(insertEvent)
    .run(
      ...[key, event.seq, event.id, event.type, event.v, event.at, event.runId ?? null],
      ...[Number(roleOf(event) === "entry"), Number(event.quiet === true), sum, text],
    );
}

const insertDelta = `
  INSERT INTO deltas (prev, session_key, seq, id, type, v, at, run_id, sum, data)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Hangs a delta on the session's chain and returns the chain's new end. */
export function appendDelta(
  connection: Connection,
  key: number,
  prev: number | null,
  event: StoredEvent,
): number {
  const { text, sum } = encodePayload(event.data);
  const { lastInsertRowid } = connection
    .sql(insertDelta)
    .run(
      prev,
      key,
      event.seq,
      event.id,
      event.type,
      event.v,
      event.at,
      event.runId ?? null,
      sum,
      text,
    );
  return Number(lastInsertRowid);
}

/** A chain from its end backwards, down to the first number that is not wanted. */
export const chainSql = `
  WITH RECURSIVE chain (pos) AS (
    SELECT pos FROM deltas WHERE pos = ?1 AND seq > ?2
    UNION ALL
    SELECT older.pos FROM chain
      JOIN deltas newer ON newer.pos = chain.pos
      JOIN deltas older ON older.pos = newer.prev
     WHERE older.seq > ?2
  )
  SELECT ${deltaColumns} FROM chain JOIN deltas USING (pos)`;

export function readChain(connection: Connection, lastDelta: number | null, after: number): Row[] {
  if (lastDelta === null) return [];
  return connection.sql(chainSql).all(lastDelta, after).reverse();
}
