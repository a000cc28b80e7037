import { type EventId, timeOf } from "@holdfast/protocol";

import type { EventRow } from "../schema/tables.ts";
import type { Connection } from "./connection.ts";
import type { StoredSession } from "./rows.ts";

/**
 * Ids begin with their time, so nearly every event of a log has a greater one than those before it. Such an event is
 * `ordered` and found by a binary search of its log; only the others are in an index. That index is all that tells
 * whether an event was written before, so both must be exact:
 *
 * - An event is ordered only if its id is greater than every ordered id before it.
 * - The time in its id isn't later than the event's own, so no ordered id is later than the session's last activity.
 *   Hence quiet events, which are no activity, are never ordered.
 */
export function isOrdered(row: EventRow, greatestId: string): boolean {
  return row.id > greatestId && !row.quiet && timeOf<"event">(row.id) <= row.at;
}

/** Not less than any ordered id of the log, and usually the greatest. */
export function greatestOrderedId(
  connection: Connection,
  { key, row }: Pick<StoredSession, "key" | "row">,
): string {
  const newest = connection.sql(newestOrdered).get(key, row.head - lastEvents, row.head);
  return newest === undefined ? greatestIdAt(row.activityAt) : String(newest["id"]);
}

function greatestIdAt(time: number): string {
  return `evt_${base32(time)}${"z".repeat(16)}`;
}

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

/** Ten characters of Crockford's base 32. */
function base32(time: number): string {
  let text = "";
  for (let rest = time; text.length < 10; rest = Math.floor(rest / 32))
    text = alphabet.charAt(rest % 32) + text;
  return text;
}

export interface LogToSearch {
  readonly key: number;
  readonly head: number;
  /** Not less than any ordered id. */
  readonly greatestId: string;
}

export interface FoundEvent {
  readonly seq: number;
  readonly at: number;
}

const unorderedById = `
  SELECT seq, at FROM events WHERE id = ? AND session_key = ? AND unordered IS NOT 0`;

export function findEvent(
  connection: Connection,
  log: LogToSearch,
  id: EventId,
): FoundEvent | undefined {
  const row = connection.sql(unorderedById).get(id, log.key);
  if (row !== undefined) return { seq: Number(row["seq"]), at: Number(row["at"]) };
  return findOrdered(connection, log, id);
}

const newestOrdered = `
  SELECT seq, at, id FROM events
   WHERE session_key = ? AND seq BETWEEN ? AND ? AND unordered = 0 ORDER BY seq DESC LIMIT 1`;

/** Who asks for an event usually asks for one of the last. */
const lastEvents = 64;

function findOrdered(
  connection: Connection,
  { key, head, greatestId }: LogToSearch,
  id: EventId,
): FoundEvent | undefined {
  if (id > greatestId) return undefined;
  let [low, high] = [1, head];
  for (let middle = high; low <= high; middle = Math.floor((low + high) / 2)) {
    const from = middle === head ? Math.max(low, head - lastEvents) : low;
    const row = connection.sql(newestOrdered).get(key, from, middle);
    if (row === undefined) {
      // Nothing ordered from there on; at the log's end that is not worth searching all of it.
      if (from === low) low = middle + 1;
      else high = from - 1;
      continue;
    }
    const found = { seq: Number(row["seq"]), at: Number(row["at"]) };
    const stored = String(row["id"]);
    if (stored === id) return found;
    if (stored < id) low = middle + 1;
    else high = found.seq - 1;
  }
  return undefined;
}
