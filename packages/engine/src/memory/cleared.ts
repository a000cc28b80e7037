import {
  decodeEvent,
  type EventData,
  type KnownEvent,
  type OwnerId,
  type Seq,
  type StoredEvent,
} from "@holdfast/protocol";

import type { MarkRow } from "../ports/rows.ts";
import type { Reads } from "../ports/reads.ts";

const eventPageSize = 500;

/** The messages of a turn that went out of view when its session was cleared; none when it was undone. */
export async function clearedEntries(
  reads: Reads,
  owner: OwnerId,
  mark: MarkRow,
): Promise<readonly StoredEvent[]> {
  const { session, seq, runId } = mark;
  const after = await lastBefore(reads, owner, mark);
  const messages: StoredEvent[] = [];
  for await (const event of eventsOf(reads, owner, mark, { after, upTo: seq })) {
    const isMessage = event.type === "message.user" || event.type === "message.assistant";
    if (isMessage && event.runId === runId) messages.push(event);
  }
  const [first] = messages;
  if (first === undefined) return [];
  let hiddenBy: EventData<"history.cut">["reason"] | undefined;
  for await (const event of eventsOf(reads, owner, mark, { after: seq })) {
    const decoded = decodeEvent(event);
    if (decoded.kind !== "known" || !isHistoryEvent(decoded.event)) continue;
    const { type, data } = decoded.event;
    const isInView = data.ranges.some(
      ({ from, to, log = session }) =>
        log === session && first.seq >= from && first.seq <= (to ?? Infinity),
    );
    if (isInView) hiddenBy = undefined;
    else if (type === "history.cut") hiddenBy ??= data.reason;
  }
  return hiddenBy === "clear" ? messages : [];
}

/** By the store's clock: nothing of its run stands before this. */
export async function runStartedAt(reads: Reads, owner: OwnerId, mark: MarkRow): Promise<number> {
  return (await reads.run(owner, mark.runId))?.startedAt ?? 0;
}

type HistoryEvent = Extract<KnownEvent, { type: "history.cut" | "history.restored" }>;

function isHistoryEvent(event: KnownEvent): event is HistoryEvent {
  return event.type === "history.cut" || event.type === "history.restored";
}

/** The newest number before the run began, found by halves: times only grow along a log. */
async function lastBefore(reads: Reads, owner: OwnerId, mark: MarkRow): Promise<Seq> {
  const begun = await runStartedAt(reads, owner, mark);
  let low = 0;
  let high = mark.seq - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const query = { after: (middle - 1) as Seq, limit: 1 };
    const [event] = (await reads.events(owner, mark.session, query))?.events ?? [];
    if (event !== undefined && event.at < begun) low = middle;
    else high = middle - 1;
  }
  return low as Seq;
}

async function* eventsOf(
  reads: Reads,
  owner: OwnerId,
  { session }: MarkRow,
  { after: from, upTo }: { readonly after: Seq; readonly upTo?: Seq },
): AsyncGenerator<StoredEvent> {
  let after = from;
  for (;;) {
    const query = { after, limit: eventPageSize, ...(upTo !== undefined && { upTo }) };
    const page = await reads.events(owner, session, query);
    yield* page?.events ?? [];
    const last = page?.events.at(-1);
    if (page?.more !== true || last === undefined) return;
    after = last.seq;
  }
}
