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
  /** Whatever it is, by the thread that reads. */
  readonly queryInThread: RunQuery<keyof Queries>;
  /** What is small on the spot, the rest like the others. */
  readonly queryInline: RunQuery<InlineQuery>;
}

export function createReads(
  { queryInThread: ask, queryInline: glance }: ReadDeps,
  report: ReportDamage,
): Reads {
  return {
    session: (...args) => glance("session", args),
    sessions: async (owner, query) => decodeList(await glance("sessions", [owner, query]), query),
    listed: (...args) => glance("listed", args),
    events: async (...args) => decodeEventPage(await ask("events", args), report),
    entries: async (...args) => decodeEntryPage(await glance("entries", args), report),
    snapshot: (...args) =>
      readSnapshot(
        {
          snapshot: () => glance("snapshot", args),
          deltas: (from) => ask("deltas", [from]),
        },
        report,
      ),
    event: async (...args) => decodeEventRows(await ask("event", args), report)[0] ?? null,
    run: (...args) => glance("run", args),
    lane: (...args) => glance("lane", args),
    lanes: (...args) => glance("lanes", args),
    // What is asked for of a session is little; that of all may be what a whole table holds.
    outbox: (owner, query) =>
      (query.session === undefined ? ask : glance)("outbox", [owner, query]),
    inbound: (...args) => glance("inbound", args),
    usage: (...args) => ask("usage", args),
    blob: (...args) => ask("blob", args),
    approval: (...args) => glance("approval", args),
    approvals: (...args) => glance("approvals", args),
    answered: (...args) => ask("answered", args),
    unremembered: (...args) => ask("unremembered", args),
    memory: (...args) => ask("memory", args),
    approvalsFor: (...args) => glance("approvalsFor", args),
  };
}

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
