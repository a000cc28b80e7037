import { roleOf, type StoredEvent } from "@holdfast/protocol";
import { type EventRead, type EventRow, events, fromEventRow } from "../schema/tables.ts";
import type { LinkedRow } from "../shared/hash-chain.ts";
import { type Cells, type Connection, fewRows } from "./connection.ts";
import {
  decoderByName,
  decoderByPosition,
  encoder,
  int,
  intOrNull,
  type Row,
  sessionTables,
  type StoredSession,
} from "./rows.ts";
import type { EntryPage, EventPage, EntryQuery, EventQuery, SessionRow } from "@holdfast/engine";

const columnNames = events.columns.map(({ name }) => name);
/** The same for the log and for deltas. */
export const eventColumns = columnNames.join(", ");

const rowByName = decoderByName(events);
const rowByPosition = decoderByPosition(events);
const cellsOf = encoder(events);

/** The last position of an event, although a purge may have deleted it: search follows them, so none is given twice. */
export const lastPosition = `max(
  coalesce((SELECT max(pos) FROM events), 0),
  coalesce((SELECT last_pos FROM purges WHERE rowid = (SELECT max(rowid) FROM purges)), 0))`;

/** The columns as they are, for what looks at a row that may be damaged. */
export function readEventRow(row: Row): EventRow {
  return rowByName(row);
}

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

const eventNames = ["session_key", "entry", "link", "unordered", ...columnNames];
const insertEvent = `
  INSERT INTO events (pos, ${eventNames.join(", ")})
  VALUES (1 + ${lastPosition}, ${eventNames.map(() => "?").join(", ")})`;

export interface NewEventRow extends LinkedRow {
  readonly isOrdered: boolean;
}

export function appendEvent(
  connection: Connection,
  key: number,
  { row, link, isOrdered }: NewEventRow,
): void {
  const entry = Number(roleOf(row) === "entry");
  connection.sql(insertEvent).run(key, entry, link, Number(!isOrdered), ...cellsOf(row));
}

const insertDelta = insertInto("deltas", "prev", "session_key");

/** Appends a delta to the session's chain and returns the new end of the chain. */
export function appendDelta(
  connection: Connection,
  key: number,
  prev: number | null,
  row: EventRow,
): number {
  return Number(connection.sql(insertDelta).run(prev, key, ...cellsOf(row)).lastInsertRowid);
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

/** A row that can't be decoded. Reads skip it; the row stays in the table. */
export interface DamagedRow {
  readonly id: string;
  readonly seq: number;
  readonly problem: string;
}

export type ReportDamage = (damage: DamagedRow) => void;

export function decodeEventRows(rows: readonly Cells[], report: ReportDamage): StoredEvent[] {
  const decoded: StoredEvent[] = [];
  for (const cells of rows) {
    const read = decodeEventCells(cells);
    if (read.status === "intact") decoded.push(read.event);
    else report({ id: read.id, seq: read.seq, problem: read.problem });
  }
  return decoded;
}

export function decodeEventPage(page: RawEvents | null, report: ReportDamage): EventPage | null {
  if (page === null) return null;
  return { events: decodeEventRows(page.rows, report), head: page.head, more: page.more };
}

export function decodeEntryPage(page: RawEntries, report: ReportDamage): EntryPage;
export function decodeEntryPage(page: RawEntries | null, report: ReportDamage): EntryPage | null;
export function decodeEntryPage(page: RawEntries | null, report: ReportDamage): EntryPage | null {
  if (page === null) return null;
  return { entries: decodeEventRows(page.rows, report), more: page.more };
}

/**
 * Pages of undecoded rows, which is how they leave the reader thread: a payload is parsed once, where it is used, and
 * copying its text costs a fraction of copying the parsed value.
 */
export interface RawEvents {
  readonly rows: readonly Cells[];
  readonly head: SessionRow["head"];
  readonly more: boolean;
}

export interface RawEntries {
  readonly rows: readonly Cells[];
  readonly more: boolean;
}

const eventsAfter = `
  SELECT ${eventColumns} FROM events WHERE session_key = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ? + 0`;

interface SessionLog extends Pick<SessionRow, "head">, Pick<StoredSession, "key" | "lastDelta"> {}

const logOfSession = `
  SELECT s.key, coalesce(l.head, s.head) AS head, l.last_delta FROM ${sessionTables} WHERE s.id = ? AND s.owner_id = ?`;

/** What a page of the log needs of the session, which is much less than its row. */
export function findLog(connection: Connection, owner: string, id: string): SessionLog | null {
  const row = connection.sql(logOfSession).get(id, owner);
  if (row === undefined) return null;
  const head = int(row, "head") as SessionRow["head"];
  return { key: int(row, "key"), head, lastDelta: intOrNull(row, "last_delta") };
}

/** The log and the open deltas, merged by seq. */
export function readEvents(
  connection: Connection,
  { key, head, lastDelta }: SessionLog,
  query: EventQuery,
): RawEvents {
  const upTo = Math.min(query.upTo ?? head, head);
  const rows = readLog(connection, key, { ...query, upTo }, query.limit + 1);
  const open = readChain(connection, lastDelta, query.after).filter(
    (row) => Number(row[0]) <= upTo,
  );
  const merged = open.length === 0 ? rows : [...rows, ...open].toSorted(bySeq);
  const page = merged.slice(0, query.limit);
  return { rows: page, head, more: merged.length > page.length };
}

function readLog(
  connection: Connection,
  key: number,
  { after, upTo }: { readonly after: number; readonly upTo: number },
  limit: number,
): Cells[] {
  const rows: Cells[] = [];
  for (let last = after; rows.length < limit;) {
    const wanted = Math.min(limit - rows.length, fewRows);
    const some = connection.fewCells(eventsAfter, key, last, upTo, wanted);
    rows.push(...some);
    if (some.length < wanted) break;
    last = Number(some.at(-1)?.[0]);
  }
  return rows;
}

function bySeq(a: Cells, b: Cells): number {
  return Number(a[0]) - Number(b[0]);
}

const entriesBefore = `
  SELECT ${eventColumns} FROM events
   WHERE session_key = ? AND entry = 1 AND seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT ? + 0`;

/** Walks the visible ranges from the newest backwards, each in the log it belongs to. */
export function readEntries(
  connection: Connection,
  session: StoredSession,
  query: EntryQuery,
): RawEntries {
  const rows: Cells[] = [];
  const last = (query.before ?? Number.MAX_SAFE_INTEGER) - 1;
  for (const range of session.row.ranges.toReversed()) {
    if (rows.length > query.limit) break;
    const key =
      range.log === undefined
        ? session.key
        : keyOfLog(connection, { id: range.log, owner: session.row.owner });
    const to = Math.min(range.to ?? last, last);
    if (key === null || to < range.from) continue;
    const wanted = query.limit + 1 - rows.length;
    const read = wanted <= fewRows ? connection.fewCells : connection.cells;
    rows.push(...read(entriesBefore, key, range.from, to, wanted));
  }
  const page = rows.slice(0, query.limit).toReversed();
  return { rows: page, more: rows.length > page.length };
}

/** A branch may read rows of a purged origin, but never those of another owner. */
function keyOfLog(
  connection: Connection,
  { id, owner }: Pick<SessionRow, "id" | "owner">,
): number | null {
  const row = connection
    .sql(
      `SELECT key FROM sessions WHERE id = ?1 AND owner_id = ?2
       UNION ALL SELECT session_key FROM purges WHERE session_id = ?1 AND owner_id = ?2`,
    )
    .get(id, owner);
  return row === undefined ? null : Number(row["key"]);
}

const journalOf = `
  SELECT ${eventColumns} FROM events
   WHERE session_key = ? AND seq >= ? AND entry = 0 AND run_id = ? ORDER BY seq`;

/** The number of deltas that come with the snapshot itself. Few journals have more. */
const maxSnapshotDeltas = 500;

/** What the live run has logged since its current step began, and its newest deltas. */
export function readJournal(
  connection: Connection,
  session: StoredSession,
  run: { readonly id: string; readonly journalFrom: number },
): { readonly journal: readonly Cells[]; readonly deltas: ChainPart } {
  return {
    journal: connection.cells(journalOf, session.key, run.journalFrom, run.id),
    deltas:
      session.lastDelta === null
        ? noDeltas
        : readChainPart(connection, session.lastDelta, maxSnapshotDeltas),
  };
}

export const noDeltas: ChainPart = { rows: [], older: null };
