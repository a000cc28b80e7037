import { roleOf, type SessionId, type StoredEvent } from "@holdfast/protocol";

import { type EventRead, events, fromEventRow, toEventRow } from "../../schema/events.ts";
import { insertRows, type Row } from "../connection.ts";
import { checkedDecoder, encoder, namesOf, shapeOf } from "./tables.ts";

/** The same in `events` and `deltas`. */
export const eventColumns = namesOf(events.columns).join(", ");

export const insertEvents = insertRows("events", `session_id, entry, ${eventColumns}`);
export const insertDeltas = insertRows("deltas", `session_id, ${eventColumns}`);

const shape = shapeOf(events);
const decodeRow = checkedDecoder(events);
const encodeRow = encoder(events);

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

export function encodeDelta(session: SessionId, event: StoredEvent): Row {
  return { session_id: session, ...encodeRow(toEventRow(event)) };
}

export function encodeEvent(session: SessionId, event: StoredEvent): Row {
  return { ...encodeDelta(session, event), entry: roleOf(event) === "entry" };
}
