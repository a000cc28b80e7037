import type { TailItem } from "@holdfast/engine";
import {
  decodeCursors,
  encodeEventSseFrame,
  encodeListSseFrame,
  encodeResyncSseFrame,
  encodeStatusSseFrame,
  encodeWatchedSseFrame,
  type OwnerId,
  type Seq,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import type { Context } from "hono";

import type { HostEnv, Route } from "../http/routing.ts";
import { type Call, mountStream } from "./endpoint.ts";
import { type EventStream, openEventStream } from "./sse-response.ts";
import { createListHints } from "./session-list.ts";
import type { ApiDeps } from "./deps.ts";
import { problem, type ProblemReply } from "./reply.ts";

/** So much is gathered before it is written: many small events travel together, and few large ones do not pile up. */
const flushLength = 64 * 1024;
const beginning = 0 as Seq;

/** How a stream speaks of one session: alone, or as one of those that a tab watches. */
interface SessionFrames {
  readonly session: SessionId;
  cursor(): Seq;
  /** The event as a frame; from here on the cursor is its number. */
  event(event: StoredEvent): string;
  resync(head: Seq): string;
  gone(): string;
}

export function eventRoutes(parts: ApiDeps): Route[] {
  const { log, storageStatus: storing } = parts;
  const hints = createListHints(log.store.reads, parts.clock, parts.closing);

  /** P6: a reader that comes or goes touches nothing but its own tail. */
  async function followSession(
    { owner, params: { id }, query, headers }: Call<"followSession">,
    c: Context<HostEnv>,
  ): Promise<Response | ProblemReply> {
    if ((await log.store.reads.session(owner, id)) === null) return problem("session_not_found");
    // A browser that reconnects by itself repeats the address it began with and says here how far it has come.
    const after = headers["last-event-id"] ?? query.after ?? beginning;
    return openEventStream(c, parts, (stream) =>
      speak(stream, owner, singleSessionFrames(id, after)),
    );
  }

  async function watchSessions(
    { owner, query, headers }: Call<"watchSessions">,
    c: Context<HostEnv>,
  ): Promise<Response | ProblemReply> {
    const decoded = decodeCursors(headers["last-event-id"] ?? query.watch ?? "");
    if (decoded === null) return badCursors;
    const cursors = new Map(decoded);
    for (const id of cursors.keys()) {
      if ((await log.store.reads.session(owner, id)) === null)
        return problem("session_not_found", { detail: `There is no session ${id}.` });
    }
    return openEventStream(c, parts, async (stream) => {
      const unwatch = hints.watch(owner, (frames) => void stream.write(frames));
      stream.signal.addEventListener("abort", unwatch, { once: true });
      const voices = [...cursors.keys()].map((id) => watchedSessionFrames(id, cursors));
      await Promise.all(voices.map((voice) => speak(stream, owner, voice)));
      await untilAborted(stream.signal);
    });
  }

  /** P5: sends what the tail gives, which is durable, in order and without a hole. */
  async function speak(stream: EventStream, owner: OwnerId, voice: SessionFrames): Promise<void> {
    const { signal } = stream;
    const unwatch = storing.subscribe(voice.session, (status) => {
      void stream.write(encodeStatusSseFrame(status));
    });
    signal.addEventListener("abort", unwatch, { once: true });
    for await (const item of log.tail(owner, voice.session, voice.cursor(), { signal })) {
      await writeItem(stream, voice, item);
    }
  }

  return [
    mountStream(parts, "followSession", followSession),
    mountStream(parts, "watchSessions", watchSessions),
  ];
}

async function writeItem(stream: EventStream, voice: SessionFrames, item: TailItem): Promise<void> {
  switch (item.kind) {
    case "events":
      return writeEvents(stream, voice, item.events);
    case "resync":
      return stream.write(voice.resync(item.head));
    case "status": {
      const code = item.reading === "failing" ? item.code : "store_restored";
      return stream.write(encodeStatusSseFrame({ code, sessionId: voice.session }));
    }
    case "cut":
      // The client comes back by its cursor, and reads at its own pace from there.
      return stream.end();
    case "gone":
      return stream.write(voice.gone());
  }
}

async function writeEvents(
  stream: EventStream,
  voice: SessionFrames,
  events: readonly StoredEvent[],
): Promise<void> {
  let piece = "";
  for (const event of events) {
    piece += voice.event(event);
    if (piece.length < flushLength) continue;
    await stream.write(piece);
    if (stream.signal.aborted) return;
    piece = "";
  }
  if (piece !== "") await stream.write(piece);
}

function singleSessionFrames(session: SessionId, after: Seq): SessionFrames {
  let cursor = after;
  return {
    session,
    cursor: () => cursor,
    event(event) {
      cursor = event.seq;
      return encodeEventSseFrame(event);
    },
    resync(head) {
      const reason = head < cursor ? "ahead" : "behind";
      cursor = head;
      return encodeResyncSseFrame({ reason, seq: head });
    },
    gone: () => encodeListSseFrame({ sessionId: session, session: null }),
  };
}

/** Frames are made in the order in which they are written, so the map in one never runs ahead of what was sent. */
function watchedSessionFrames(session: SessionId, cursors: Map<SessionId, Seq>): SessionFrames {
  const cursor = (): Seq => cursors.get(session) ?? beginning;
  return {
    session,
    cursor,
    event(event) {
      cursors.set(session, event.seq);
      return encodeWatchedSseFrame(session, event, cursors);
    },
    resync(head) {
      const reason = head < cursor() ? "ahead" : "behind";
      cursors.set(session, head);
      return encodeResyncSseFrame({ reason, seq: head, sessionId: session });
    },
    gone() {
      cursors.delete(session);
      return encodeListSseFrame({ sessionId: session, session: null });
    },
  };
}

const badCursors = problem("invalid_request", {
  errors: [{ path: "watch", message: "expected cursors like ses_a:12,ses_b:0" }],
});

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
