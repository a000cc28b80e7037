import type { EntryPage, EventPage } from "@holdfast/engine";
import type { StoredEvent } from "@holdfast/protocol";

import type { Cells } from "../connection.ts";
import { decodeEventCells } from "../rows/events.ts";
import type { RawEntries, RawEvents } from "./read-events.ts";

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
