import type { JournalEvent } from "@holdfast/engine";
import { joinDeltas } from "@holdfast/engine/log";
import { roleOf, type StoredEvent } from "@holdfast/protocol";
import { crc32 } from "node:zlib";

import type { Connection, Row } from "../connection.ts";
import {
  type DamagedRow,
  decodeEventRow,
  decodeEventRows,
  eventColumns,
  readChainPart,
} from "../events.ts";
import { text } from "../rows.ts";

/** A page of a long journal, oldest first, decoded and joined in the reader thread so that little has to be copied. */
export interface JournalPart {
  readonly events: readonly JournalEvent[];
  readonly damaged: readonly DamagedRow[];
  readonly older: number | null;
}

/** Other reads get a turn between two pages. */
const deltasPerPage = 2_000;

/** `null`: the deltas were pruned. */
export function readDeltas(connection: Connection, from: number): JournalPart | null {
  const page = readJoinedDeltas(connection, from, deltasPerPage);
  if (page !== undefined) return { events: [page.event], damaged: [], older: page.older };
  const { rows, older } = readChainPart(connection, from, deltasPerPage);
  if (rows.length === 0) return null;
  const damaged: DamagedRow[] = [];
  const deltas = decodeEventRows(rows.toReversed(), (damage) => damaged.push(damage));
  return { events: joinDeltas(deltas), damaged, older };
}

const deltaAt = `SELECT ${eventColumns}, session_key FROM deltas WHERE pos = ?`;

/**
 * All deltas of one kind as one row, which SQLite builds several times faster than thousands of rows are handed over.
 * JSON contains no raw newline, so one separates them.
 */
const deltasOfKind = `
  SELECT group_concat(pos) AS pos, group_concat(coalesce(prev, 0)) AS prev, group_concat(seq) AS seq,
         group_concat(at) AS at, group_concat(sum) AS sum, group_concat(data, char(10)) AS data
    FROM (SELECT * FROM deltas
           WHERE pos <= ?1 AND pos > ?1 - ?2 AND session_key = ?3
             AND type = ?4 AND v = ?5 AND run_id IS ?6 AND quiet = ?7 ORDER BY pos)`;

/** What `joinDeltas` makes of a page of a chain, and where the chain continues. */
interface JoinedPage {
  readonly event: JournalEvent;
  readonly older: number | null;
}

/**
 * Reads a page of deltas that continue each other, as nearly all in a long journal do. `undefined` if these don't, or if
 * one of them is damaged: then they have to be read one by one.
 */
function readJoinedDeltas(
  connection: Connection,
  from: number,
  limit: number,
): JoinedPage | undefined {
  const row = connection.sql(deltaAt).get(from);
  const last = row && decodeEventRow(row);
  if (last?.status !== "intact" || roleOf(last.event) !== "delta") return undefined;
  const { session_key: key = null, type = null, v = null, run_id: run = null, quiet = null } = row!;
  const page = connection.sql(deltasOfKind).get(from, limit, key, type, v, run, quiet);
  if (page === undefined) return undefined;
  const [positions, previous, seqs, times] = ["pos", "prev", "seq", "at"].map((name) =>
    numbersOf(page, name),
  ) as [number[], number[], number[], number[]];
  const [firstSeq, firstAt] = [seqs[0], times[0]];
  if (firstSeq === undefined || firstAt === undefined || positions.length < 2) return undefined;
  for (let index = 1; index < positions.length; index += 1) {
    if (previous[index] !== positions[index - 1] || seqs[index] !== firstSeq + index)
      return undefined;
  }
  const texts = textsOf(page, last.event.data);
  if (texts?.length !== positions.length) return undefined;
  const event: JournalEvent = {
    ...last.event,
    at: firstAt,
    data: { ...last.event.data, text: texts.join("") },
    joined: {
      from: firstSeq as StoredEvent["seq"],
      times: times.map((at) => at - firstAt),
      lengths: texts.map((each) => each.length),
    },
  };
  return { event, older: previous[0] === 0 ? null : (previous[0] ?? null) };
}

/** The columns are integers: the table is STRICT. */
function numbersOf(row: Row, column: string): number[] {
  return JSON.parse(`[${text(row, column)}]`) as number[];
}

/** The text of each, if they are intact and differ from the last one in nothing else. */
function textsOf(page: Row, last: StoredEvent["data"]): string[] | undefined {
  const payloads = text(page, "data").split("\n");
  const sums = numbersOf(page, "sum");
  for (const [index, payload] of payloads.entries())
    if (crc32(payload) !== sums[index]) return undefined;
  const size = Object.keys(last).length;
  const texts: string[] = [];
  for (const data of JSON.parse(`[${payloads.join(",")}]`) as StoredEvent["data"][]) {
    let same = 0;
    for (const name in data) if (name === "text" || data[name] === last[name]) same += 1;
    const { text: said } = data;
    if (typeof said !== "string" || same !== size || Object.keys(data).length !== size)
      return undefined;
    texts.push(said);
  }
  return texts;
}
