import {
  type StoredEvent,
  routes,
  type Seq,
  type SessionId,
  type Cursors,
  encodeCursors,
  type ListHint,
  type Resync,
  type StreamStatus,
} from "@holdfast/protocol";
import { streamWithReconnect, type StreamEnded, type StreamOptions } from "./follow.ts";
import type { Transport } from "./link.ts";
import { buildRequest } from "./request.ts";

export type FollowItem =
  | { readonly kind: "event"; readonly event: StoredEvent }
  /** The last item: read the session again, and follow from there. */
  | { readonly kind: "resync"; readonly resync: Resync }
  | { readonly kind: "status"; readonly status: StreamStatus }
  | StreamEnded;

/** A session's events after a number: each once, in order, over any number of connections. */
export async function* followSession(
  link: Transport,
  id: SessionId,
  after: Seq,
  options: StreamOptions,
): AsyncGenerator<FollowItem, void, undefined> {
  let cursor = after;
  const request = () =>
    buildRequest(link, routes.followSession, { params: { id }, query: { after: cursor } });
  for await (const item of streamWithReconnect(link, request, options)) {
    if (item.kind === "list") continue;
    if (item.kind === "event") {
      if (item.event.seq <= cursor) continue;
      cursor = item.event.seq;
    }
    yield item;
    if (item.kind === "resync") return;
  }
}

export type WatchItem =
  | { readonly kind: "event"; readonly sessionId: SessionId; readonly event: StoredEvent }
  /** One of the sessions must be read again; the stream goes on, for that one from `seq`. */
  | { readonly kind: "resync"; readonly resync: Resync }
  | { readonly kind: "status"; readonly status: StreamStatus }
  | { readonly kind: "list"; readonly hint: ListHint }
  | StreamEnded;

/** One stream for several sessions. Each keeps its own order; between them there is none. */
export async function* watchSessions(
  link: Transport,
  from: Cursors,
  options: StreamOptions,
): AsyncGenerator<WatchItem, void, undefined> {
  const cursors = new Map(from);
  const request = () =>
    buildRequest(link, routes.watchSessions, { query: { watch: encodeCursors(cursors) } });
  for await (const item of streamWithReconnect(link, request, options)) {
    if (item.kind === "event") {
      const { sessionId, event } = item;
      const cursor = sessionId === undefined ? undefined : cursors.get(sessionId);
      if (sessionId === undefined || cursor === undefined || event.seq <= cursor) continue;
      cursors.set(sessionId, event.seq);
      yield { kind: "event", sessionId, event };
      continue;
    }
    if (item.kind === "resync" && item.resync.sessionId !== undefined)
      cursors.set(item.resync.sessionId, item.resync.seq);
    yield item;
  }
}
