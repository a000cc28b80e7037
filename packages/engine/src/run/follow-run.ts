import {
  decodeEvent,
  type MessageId,
  type OwnerId,
  type RunId,
  type Seq,
  type SessionId,
  type StoredEvent,
  terminalStates,
} from "@holdfast/protocol";
import type { TailItem } from "../log/tail.ts";
import type { Reads } from "../ports/reads.ts";

const pageSize = 500;

export interface FollowedRun {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly runId: RunId;
  readonly after: Seq;
}

/** Ends once the reader has everything of the run, also if it ended before. */
export async function* followRun(
  reads: Pick<Reads, "run" | "session">,
  { owner, session, runId, after }: FollowedRun,
  items: AsyncIterable<TailItem>,
): AsyncGenerator<TailItem, undefined> {
  const hasEnded = async (): Promise<boolean> => {
    const row = await reads.run(owner, runId);
    return row === null || terminalStates.has(row.state);
  };
  const endedBy = (await hasEnded()) ? (await reads.session(owner, session))?.head : undefined;
  if (endedBy !== undefined && endedBy <= after) return;
  for await (const item of items) {
    // Asked before the reader reads the session anew: what it finds then includes the end.
    const isOver = item.kind === "resync" && (await hasEnded());
    yield item;
    if (isOver) return;
    if (item.kind !== "events") continue;
    // An item's head may be far beyond its events.
    const last = item.events.at(-1)?.seq ?? after;
    if (endedBy !== undefined && last >= endedBy) return;
    if (item.events.some((event) => endsRun(event, runId))) return;
  }
}

function endsRun(event: StoredEvent, runId: RunId): boolean {
  if (event.type !== "run.state" || event.runId !== runId) return false;
  const decoded = decodeEvent(event);
  if (decoded.kind !== "known" || decoded.event.type !== "run.state") return false;
  return terminalStates.has(decoded.event.data.state);
}

/** The text of a run's messages, each piece once: from their deltas, or from the entry that settles them. */
export async function* answerText(
  reads: Pick<Reads, "events">,
  run: FollowedRun,
  follow: (after: Seq) => AsyncIterable<TailItem>,
): AsyncGenerator<string, undefined> {
  const given = new Map<MessageId, number>();
  for await (const events of eventsUntilRunEnds(reads, run, follow))
    for (const event of events) yield* textOfEvent(run.runId, event, given);
}

function* textOfEvent(
  runId: RunId,
  event: StoredEvent,
  given: Map<MessageId, number>,
): Generator<string, undefined> {
  const decoded = event.runId === runId ? decodeEvent(event) : undefined;
  if (decoded?.kind !== "known") return;
  const { type, data } = decoded.event;
  if (type === "message.delta" && data.kind !== "reasoning") {
    given.set(data.messageId, (given.get(data.messageId) ?? 0) + data.text.length);
    yield data.text;
  }
  if (type !== "message.assistant") return;
  const text = data.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const rest = text.slice(given.get(data.messageId) ?? 0);
  if (rest !== "") yield rest;
}

/**
 * The session's events, each once and in order, as many at a time as there are, until `follow` ends; also for a reader
 * that is slow or far behind. A missing seq belongs to a delta that a settled entry names.
 */
export async function* eventsUntilRunEnds(
  reads: Pick<Reads, "events">,
  { owner, session, after }: Omit<FollowedRun, "runId">,
  follow: (after: Seq) => AsyncIterable<TailItem>,
): AsyncGenerator<readonly StoredEvent[], undefined> {
  let cursor = after;
  function take(events: readonly StoredEvent[]): readonly StoredEvent[] {
    const isNew = (events[0]?.seq ?? 0) > cursor;
    const fresh = isNew ? events : events.filter(({ seq }) => seq > cursor);
    cursor = fresh.at(-1)?.seq ?? cursor;
    return fresh;
  }
  for (let isCut = true; isCut;) {
    isCut = false;
    for await (const item of follow(cursor)) {
      if (item.kind === "cut") isCut = true;
      if (item.kind === "events") yield take(item.events);
      if (item.kind !== "resync") continue;
      for (let more = true; more;) {
        const page = await reads.events(owner, session, { after: cursor, limit: pageSize });
        yield take(page?.events ?? []);
        more = page?.more ?? false;
      }
    }
  }
}
