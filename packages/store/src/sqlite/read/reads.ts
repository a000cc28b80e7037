import type { Reads, JournalEvent, Snapshot } from "@holdfast/engine";
import {
  decodeEntryPage,
  decodeEventPage,
  decodeEventRows,
  type ReportDamage,
  noDeltas,
  type JournalPart,
} from "./events.ts";
import { decodeList } from "./list.ts";
import { type InlineQuery } from "./inline-reader.ts";
import { type Queries, type RawSnapshot } from "./queries.ts";
import type { StoredEvent } from "@holdfast/protocol";
import type { ChainPart } from "../rows/events.ts";

type RunQuery<Names extends keyof Queries> = <Name extends Names>(
  name: Name,
  args: Parameters<Queries[Name]>,
) => Promise<ReturnType<Queries[Name]>>;

interface ReadDeps {
  /** Always in the reader thread. */
  readonly queryInThread: RunQuery<keyof Queries>;
  /** Inline if the result is small, otherwise in the reader thread. */
  readonly queryInline: RunQuery<InlineQuery>;
}

export function createReads({ queryInThread, queryInline }: ReadDeps, report: ReportDamage): Reads {
  return {
    session: (...args) => queryInline("session", args),
    sessions: async (owner, query) =>
      decodeList(await queryInline("sessions", [owner, query]), query),
    listed: (...args) => queryInline("listed", args),
    events: async (...args) => decodeEventPage(await queryInThread("events", args), report),
    entries: async (...args) => decodeEntryPage(await queryInline("entries", args), report),
    snapshot: (...args) =>
      readSnapshot(
        {
          snapshot: () => queryInline("snapshot", args),
          deltas: (from) => queryInThread("deltas", [from]),
        },
        report,
      ),
    event: async (...args) =>
      decodeEventRows(await queryInThread("event", args), report)[0] ?? null,
    run: (...args) => queryInline("run", args),
    lane: (...args) => queryInline("lane", args),
    lanes: (...args) => queryInline("lanes", args),
    // A session has few rows, but the query across sessions may return a whole table.
    outbox: (owner, query) =>
      (query.session === undefined ? queryInThread : queryInline)("outbox", [owner, query]),
    inbound: (...args) => queryInline("inbound", args),
    usage: (...args) => queryInThread("usage", args),
    blob: (...args) => queryInThread("blob", args),
    approval: (...args) => queryInline("approval", args),
    approvals: (...args) => queryInline("approvals", args),
    answered: (...args) => queryInThread("answered", args),
    unremembered: (...args) => queryInThread("unremembered", args),
    memory: (...args) => queryInThread("memory", args),
    approvalsFor: (...args) => queryInline("approvalsFor", args),
  };
}

interface SnapshotDeps {
  readonly snapshot: () => Promise<RawSnapshot | null>;
  readonly deltas: (from: number) => Promise<JournalPart | null>;
}

/**
 * Reads a snapshot whose journal comes in pages. The newest page is decoded here and older ones in the reader thread,
 * so that a long journal blocks the event loop no longer than a short one. Deltas never change, so pages read later
 * still belong to the first snapshot; once they are settled and pruned, the snapshot is read again.
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

/** Oldest first. */
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

/** Both are sorted by seq, and the log has few. */
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
