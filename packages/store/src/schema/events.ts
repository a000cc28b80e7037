import { crc32 } from "node:zlib";

import {
  type EventId,
  eventId,
  type RunId,
  runId,
  type Seq,
  seq,
  type StoredEvent,
} from "@holdfast/protocol";

import { bool, describeTable, int, nullable, text } from "./columns.ts";

/** An event as the log and the deltas store it: its data as JSON text, with a checksum that detects a damaged row. */
export interface EventRow {
  readonly seq: Seq;
  readonly id: EventId;
  readonly type: string;
  readonly v: number;
  readonly at: number;
  readonly runId: RunId | null;
  readonly quiet: boolean;
  readonly sum: number;
  readonly data: string;
}

export const events = describeTable<EventRow>("events", ["seq"], {
  seq: int("seq", seq),
  id: text("id", eventId),
  type: text("type"),
  v: int("v"),
  at: int("at"),
  runId: nullable(text("run_id", runId)),
  quiet: bool("quiet"),
  sum: int("sum"),
  data: text("data"),
});

export function toEventRow(event: StoredEvent): EventRow {
  const data = JSON.stringify(event.data);
  const { id, type, v, at, runId: run = null, quiet = false } = event;
  return { seq: event.seq, id, type, v, at, runId: run, quiet, sum: crc32(data), data };
}

export type EventRead =
  | { readonly status: "intact"; readonly event: StoredEvent }
  | {
      readonly status: "damaged";
      readonly seq: number;
      readonly id: string;
      readonly problem: string;
    };

/** Returns the problem instead of throwing: a damaged row is reported and skipped, and never fails a read. */
export function fromEventRow(row: EventRow): EventRead {
  const { id, type, v, at, runId: run } = row;
  const payload = parsePayload(row.data, row.sum);
  if (typeof payload === "string") return { status: "damaged", seq: row.seq, id, problem: payload };
  const event: StoredEvent =
    run === null
      ? { seq: row.seq, id, type, v, at, data: payload }
      : { seq: row.seq, id, type, v, at, runId: run, data: payload };
  return { status: "intact", event: row.quiet ? { ...event, quiet: true } : event };
}

/** The data, or the problem with it. */
function parsePayload(json: string, sum: number): StoredEvent["data"] | string {
  if (crc32(json) !== sum) return "the checksum does not match";
  try {
    const data: unknown = JSON.parse(json);
    return isObject(data) ? data : "it is not a JSON object";
  } catch {
    return "it is not JSON";
  }
}

function isObject(value: unknown): value is StoredEvent["data"] {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
