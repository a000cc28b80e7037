import { eventId, roleOf, runId, seq, type SessionId, type StoredEvent } from "@holdfast/protocol";
import { z } from "zod";

import { decodePayload, encodePayload } from "../../schema/payload.ts";
import type { Row } from "../connection.ts";

const eventShape = z.object({
  seq,
  id: eventId,
  type: z.string(),
  v: z.int(),
  at: z.int(),
  run_id: runId.nullable(),
  quiet: z.boolean(),
  sum: z.int(),
  data: z.string(),
});

/** The same in `events` and `deltas`. */
export const eventColumns = "seq, id, type, v, at, run_id, quiet, sum, data";

export type EventRead =
  | { readonly status: "intact"; readonly event: StoredEvent }
  | { readonly status: "damaged"; readonly seq: number; readonly problem: string };

export function decodeEventRow(row: Row): EventRead {
  const parsed = eventShape.safeParse(row);
  if (!parsed.success) {
    return { status: "damaged", seq: Number(row["seq"]), problem: parsed.error.message };
  }
  const { run_id, quiet, sum, data: text, ...rest } = parsed.data;
  const payload = decodePayload(text, sum);
  if (payload.status === "damaged") {
    return { status: "damaged", seq: rest.seq, problem: payload.problem };
  }
  const event: StoredEvent = {
    ...rest,
    ...(run_id !== null && { runId: run_id }),
    ...(quiet && { quiet: true }),
    data: payload.data,
  };
  return { status: "intact", event };
}

/** Skips damaged rows; `fsck` reports them. */
export function decodeEvents(rows: readonly Row[]): StoredEvent[] {
  return rows.flatMap((row) => {
    const decoded = decodeEventRow(row);
    return decoded.status === "intact" ? [decoded.event] : [];
  });
}

export function encodeDelta(session: SessionId, event: StoredEvent): Row {
  const { text, sum } = encodePayload(event.data);
  return {
    session_id: session,
    seq: event.seq,
    id: event.id,
    type: event.type,
    v: event.v,
    at: event.at,
    run_id: event.runId ?? null,
    quiet: event.quiet === true,
    sum,
    data: text,
  };
}

export function encodeEvent(session: SessionId, event: StoredEvent): Row {
  return { ...encodeDelta(session, event), entry: roleOf(event) === "entry" };
}
