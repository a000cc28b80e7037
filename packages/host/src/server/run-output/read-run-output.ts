import {
  type Engine,
  type EventPage,
  eventsUntilRunEnds,
  newestFirst,
  type Reads,
} from "@holdfast/engine";
import type { OwnerId, RunId, Seq, SessionId } from "@holdfast/protocol";
import { type MarkedItem, newPartOf, RunOutputFold } from "./fold.ts";
import type { RunOutputItem } from "./item.ts";

export interface RunOutputDeps {
  readonly engine: Pick<Engine, "follow">;
  readonly reads: Pick<Reads, "events">;
}

export interface RunOutputQuery {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly runId: RunId;
  /** A seq before the run's first output: that of its accepted input, or `findRunStart`. */
  readonly begun: Seq;
  /** The last item that the reader has; by default none. */
  readonly after?: Seq | undefined;
  readonly signal?: AbortSignal;
}

/**
 * P5: what a run puts out, each item once and in order, to its end, whoever runs it. It ends early if the signal is
 * aborted or the session is gone. P6: a reader that leaves affects nothing.
 */
export async function* readRunOutput(
  deps: RunOutputDeps,
  query: RunOutputQuery,
): AsyncGenerator<RunOutputItem, undefined> {
  for await (const items of readOutputBatches(deps, query)) yield* newPartsOf(items);
}

/** What of some items is new to their reader. */
export function newPartsOf(items: readonly MarkedItem[]): readonly RunOutputItem[] {
  return items.flatMap((item) => newPartOf(item) ?? []);
}

/** As many items at a time as there are, and also those that the reader has, marked. */
export async function* readOutputBatches(
  { engine, reads }: RunOutputDeps,
  { owner, session, runId, begun, after, signal }: RunOutputQuery,
): AsyncGenerator<readonly MarkedItem[], undefined> {
  const fold = new RunOutputFold(runId, begun, after);
  const follow = (cursor: Seq) =>
    engine.follow({ owner, session, after: cursor, until: runId, ...(signal && { signal }) });
  for await (const events of eventsUntilRunEnds(reads, { owner, session, after: begun }, follow)) {
    const items = events.flatMap((event) => fold.takeAll(event));
    if (items.length > 0) yield items;
    if (items.some(({ item }) => item.kind === "ended")) return;
  }
}

const pageSize = 500;

/** What a run has put out so far. */
export async function readOutputSoFar(
  reads: Pick<Reads, "events">,
  { owner, session, runId, begun }: Omit<RunOutputQuery, "after" | "signal">,
): Promise<readonly RunOutputItem[]> {
  const fold = new RunOutputFold(runId, begun);
  const items: RunOutputItem[] = [];
  for (let after: Seq | undefined = begun; after !== undefined;) {
    const page: EventPage | null = await reads.events(owner, session, { after, limit: pageSize });
    for (const event of page?.events ?? []) items.push(...fold.take(event));
    const isOver = page?.more !== true || items.at(-1)?.kind === "ended";
    after = isOver ? undefined : page.events.at(-1)?.seq;
  }
  return items;
}

/** A seq before everything that the run put out; `null` if there is no such run in the session. */
export async function findRunStart(
  reads: Reads,
  { owner, session, runId }: Pick<RunOutputQuery, "owner" | "session" | "runId">,
): Promise<Seq | null> {
  const row = await reads.session(owner, session);
  const run = await reads.run(owner, runId);
  if (row === null || run === null || run.session !== session) return null;
  if (run.state === "queued") return row.head;
  let first: Seq | null = null;
  for await (const entry of newestFirst(reads, owner, session)) {
    if (entry.runId === runId) first = entry.seq;
    // A run that continues another one has no message of its own: it begins after the entries of others.
    if (entry.runId === runId ? entry.type === "message.user" : first !== null) break;
  }
  return first === null ? row.head : ((first - 1) as Seq);
}
