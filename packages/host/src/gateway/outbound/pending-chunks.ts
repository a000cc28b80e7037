import type { Log } from "@holdfast/engine";
import type { OwnerId, Seq, SessionId, StoredEvent } from "@holdfast/protocol";

interface SessionRef {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

const pageSize = 500;

/** Every event behind a number, and whatever comes, until the signal. It ends by itself when the session is gone. */
export async function* followEvents(
  log: Log,
  { owner, session }: SessionRef,
  after: Seq,
  signal: AbortSignal,
): AsyncGenerator<{ readonly events: readonly StoredEvent[]; readonly head: Seq }> {
  let cursor = after;
  for (;;) {
    let isCut = false;
    for await (const item of log.tail(owner, session, cursor, { signal })) {
      if (item.kind === "gone") return;
      if (item.kind === "status") continue;
      if (item.kind === "cut") {
        isCut = true;
        break;
      }
      // Far behind: the tail goes on from the head, and what lies between is read here.
      const events =
        item.kind === "events"
          ? item.events
          : await readEvents(log, { owner, session }, cursor, item.head);
      cursor = item.head;
      yield { events, head: cursor };
    }
    if (!isCut || signal.aborted) return;
  }
}

export async function readEvents(
  { store: { reads } }: Log,
  { owner, session }: SessionRef,
  after: Seq,
  upTo: Seq,
): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (let cursor = after; ;) {
    const page = await reads.events(owner, session, { after: cursor, upTo, limit: pageSize });
    const last = page?.events.at(-1);
    if (page === null || last === undefined) return events;
    events.push(...page.events);
    if (!page.more) return events;
    cursor = last.seq;
  }
}
