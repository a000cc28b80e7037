import type { JournalEvent, Snapshot } from "@holdfast/engine";
import type { StoredEvent } from "@holdfast/protocol";

import type { ChainPart } from "../rows/events.ts";
import { decodeEntryPage, decodeEventRows, type ReportDamage } from "./events.ts";
import type { RawSnapshot } from "./queries.ts";
import { noDeltas, type JournalPart } from "./read-events.ts";

interface SnapshotDeps {
  readonly snapshot: () => Promise<RawSnapshot | null>;
  readonly deltas: (from: number) => Promise<JournalPart | null>;
}

/**
 * A snapshot whose journal comes in parts. The newest is decoded here, the others where they are read: a long one holds the
 * event loop up no longer than a short one. Deltas never change, so those that are read later are the ones of the first instant, as long as they are
 * there; once they are settled and cleared away, the instant is over and another one is read.
 */
export async function readSnapshot(
  reads: SnapshotDeps,
  report: ReportDamage,
): Promise<Snapshot | null> {
  for (;;) {
    const raw = await reads.snapshot();
    if (raw === null) return null;
    const deltas = raw.deltas === noDeltas ? [] : await decodeDeltas(reads, raw.deltas, report);
    if (deltas === "cleared") continue;
    const { session, run, inbox } = raw;
    const journal = mergeBySeq(decodeEventRows(raw.journal, report), deltas);
    return { session, run, inbox, entries: decodeEntryPage(raw.entries, report), journal };
  }
}

/** The oldest first. */
async function decodeDeltas(
  reads: SnapshotDeps,
  newest: ChainPart,
  report: ReportDamage,
): Promise<readonly JournalEvent[] | "cleared"> {
  const parts: (readonly JournalEvent[])[] = [decodeEventRows(newest.rows.toReversed(), report)];
  let { older } = newest;
  while (older !== null) {
    const part = await reads.deltas(older);
    if (part === null) return "cleared";
    for (const damage of part.damaged) report(damage);
    parts.push(part.events);
    ({ older } = part);
  }
  return parts.toReversed().flat();
}

/** Both are in the order of their numbers, and few are in the log. */
function mergeBySeq(
  log: readonly StoredEvent[],
  deltas: readonly JournalEvent[],
): readonly JournalEvent[] {
  if (deltas.length === 0) return log;
  const journal: JournalEvent[] = [];
  let next = 0;
  for (const delta of deltas) {
    for (let event = log[next]; event !== undefined && event.seq < delta.seq; event = log[next]) {
      journal.push(event);
      next += 1;
    }
    journal.push(delta);
  }
  return journal.concat(log.slice(next));
}
