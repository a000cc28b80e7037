import {
  decodeEvent,
  type OwnerId,
  type Seq,
  type SessionId,
  type StoredEvent,
  textOf,
} from "@holdfast/protocol";

import type { Log } from "../log/index.ts";

const pageSize = 100;

/** The visible entries from the newest backwards, page by page, as far as the caller goes. */
export async function* newestFirst(
  log: Log,
  owner: OwnerId,
  session: SessionId,
): AsyncGenerator<StoredEvent> {
  let before: Seq | undefined;
  for (;;) {
    const query = { limit: pageSize, ...(before !== undefined && { before }) };
    const page = await log.store.reads.entries(owner, session, query);
    if (page === null) return;
    yield* page.entries.toReversed();
    const first = page.entries[0];
    if (!page.more || first === undefined) return;
    before = first.seq;
  }
}

/** Counts in the list: what a person or the model said. */
export function isMessage(entry: StoredEvent): boolean {
  if (entry.type === "message.assistant") return entry.data["above"] === undefined;
  return entry.type === "message.user";
}

export function textOfEntry(entry: StoredEvent): string {
  const decoded = decodeEvent(entry);
  if (decoded.kind !== "known") return "";
  const { event } = decoded;
  return event.type === "message.user" || event.type === "message.assistant"
    ? textOf(event.data.parts)
    : "";
}
