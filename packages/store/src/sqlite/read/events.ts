import type {
  EntryPage,
  EventPage,
  EntryQuery,
  EventQuery,
  JournalEvent,
  SessionRow,
} from "@holdfast/engine";
import type { StoredEvent } from "@holdfast/protocol";
import type { Cells, Connection } from "../connection.ts";
import {
  decodeEventCells,
  type ChainPart,
  eventColumns,
  readChain,
  readChainPart,
} from "../rows/events.ts";
import { joinDeltas } from "@holdfast/engine/log";
import type { StoredSession } from "../rows/sessions.ts";

/** A row that cannot be read. The view goes on without it; the row stays where it is. */
export interface DamagedRow {
  readonly id: string;
  readonly seq: number;
  readonly problem: string;
}

export type ReportDamage = (damage: DamagedRow) => void;

export function decodeEventRows(rows: readonly Cells[], report: ReportDamage): StoredEvent[] {
  return rows.flatMap((cells) => {
    const read = decodeEventCells(cells);
    if (read.status === "intact") return [read.event];
    const { id, seq, problem } = read;
    report({ id, seq, problem });
    return [];
  });
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
 * Pages of rows as they lie in the file. They leave the reader's thread like this: a payload is parsed once, where it is
 * used, and copying its text costs a fraction of copying what it says.
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

/** The log and the open deltas, merged by number. */
export function readEvents(
  connection: Connection,
  session: StoredSession,
  query: EventQuery,
): RawEvents {
  const { head } = session.row;
  const upTo = Math.min(query.upTo ?? head, head);
  const rows = connection.cells(eventsAfter, session.key, query.after, upTo, query.limit + 1);
  const open = readChain(connection, session.lastDelta, query.after).filter(
    (row) => Number(row[0]) <= upTo,
  );
  const merged = open.length === 0 ? rows : [...rows, ...open].toSorted(bySeq);
  const page = merged.slice(0, query.limit);
  return { rows: page, head, more: merged.length > page.length };
}

function bySeq(a: Cells, b: Cells): number {
  return Number(a[0]) - Number(b[0]);
}

const entriesBefore = `
  SELECT ${eventColumns} FROM events
   WHERE session_key = ? AND entry = 1 AND seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT ? + 0`;

/** Walks the visible ranges from the newest backwards, in whichever log each of them lies. */
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
    rows.push(...connection.cells(entriesBefore, key, range.from, to, wanted));
  }
  const page = rows.slice(0, query.limit).toReversed();
  return { rows: page, more: rows.length > page.length };
}

/** A branch reads rows of its origin even when that was purged, and never those of another owner. */
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

/** So many deltas come with the rest of a snapshot, each by itself: few journals have more. */
const deltasInSnapshot = 500;
/** So many are read at once of those before them: others have their turn in between. */
const deltasPerPart = 2_000;

/** What the live run has written to the log since its running step began, and the newest of its deltas. */
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
        : readChainPart(connection, session.lastDelta, deltasInSnapshot),
  };
}

export const noDeltas: ChainPart = { rows: [], older: null };

/** Some of a long journal, the oldest first, decoded and joined where it is read: little of it is left to be handed over. */
export interface JournalPart {
  readonly events: readonly JournalEvent[];
  readonly damaged: readonly DamagedRow[];
  readonly older: number | null;
}

/** `null`: it is not there any more. */
export function readDeltas(connection: Connection, from: number): JournalPart | null {
  const { rows, older } = readChainPart(connection, from, deltasPerPart);
  if (rows.length === 0) return null;
  const damaged: DamagedRow[] = [];
  const deltas = decodeEventRows(rows.toReversed(), (damage) => damaged.push(damage));
  return { events: joinDeltas(deltas), damaged, older };
}
