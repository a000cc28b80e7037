import type { TailItem } from "@holdfast/engine";
import {
  decodeCursors,
  encodeEventSseFrame,
  encodeListSseFrame,
  encodeResyncSseFrame,
  encodeSseRetry,
  encodeStatusSseFrame,
  encodeWatchedSseFrame,
  type OwnerId,
  type Seq,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import type { Context } from "hono";

import { type EventStream, openEventStream } from "../http/event-stream.ts";
import type { HostEnv, Route } from "../http/routing.ts";
import { type Call, mountStream, problem, type ProblemReply } from "./endpoint.ts";
import { createListHints } from "./session-list.ts";
import type { ApiDeps } from "./deps.ts";

/** Batches many small events into one write without letting large ones pile up. */
const flushLength = 64 * 1024;
const firstCursor = 0 as Seq;

/** How a stream encodes one session: alone, or as one of several in a tab. */
interface SessionFrames {
  readonly session: SessionId;
  cursor(): Seq;
  /** Encodes the event and moves the cursor to its sequence number. */
  event(event: StoredEvent): string;
  resync(head: Seq): string;
  gone(): string;
}

export function eventRoutes(deps: ApiDeps): Route[] {
  const { log, engine, storageStatus } = deps;
  const hints = createListHints(log.store.reads, deps.clock, deps.closing);

  /** P6: a reader that connects or leaves affects nothing but its own tail. */
  async function followSession(
    { owner, params: { id }, query, headers }: Call<"followSession">,
    c: Context<HostEnv>,
  ): Promise<Response | ProblemReply> {
    if ((await log.store.reads.session(owner, id)) === null) return problem("session_not_found");
    // A reconnecting browser repeats the original URL and sends its real position in this header.
    const after = headers["last-event-id"] ?? query.after ?? firstCursor;
    return openEventStream(
      c,
      deps,
      (stream) => writeSession(stream, owner, singleSessionFrames(id, after)),
      streamForm,
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
    const watch = async (stream: EventStream): Promise<void> => {
      const unwatch = hints.watch(owner, (frames) => void stream.write(frames));
      stream.signal.addEventListener("abort", unwatch, { once: true });
      const sessionFrames = [...cursors.keys()].map((id) => watchedSessionFrames(id, cursors));
      await Promise.all(sessionFrames.map((frames) => writeSession(stream, owner, frames)));
      await untilAborted(stream.signal);
    };
    return openEventStream(c, deps, watch, streamForm);
  }

  /** P5: sends what the tail yields, which is durable, in order and without gaps. */
  async function writeSession(
    stream: EventStream,
    owner: OwnerId,
    frames: SessionFrames,
  ): Promise<void> {
    const { signal } = stream;
    const unwatch = storageStatus.subscribe(frames.session, (status) => {
      void stream.write(encodeStatusSseFrame(status));
    });
    signal.addEventListener("abort", unwatch, { once: true });
    const { session } = frames;
    for await (const item of engine.follow({ owner, session, after: frames.cursor(), signal })) {
      await writeItem(stream, frames, item);
    }
  }

  return [
    mountStream(deps, "followSession", followSession),
    mountStream(deps, "watchSessions", watchSessions),
  ];
}

async function writeItem(
  stream: EventStream,
  frames: SessionFrames,
  item: TailItem,
): Promise<void> {
  switch (item.kind) {
    case "events":
      return writeEvents(stream, frames, item.events);
    case "resync":
      return stream.write(frames.resync(item.head));
    case "status": {
      const code = item.reading === "failing" ? item.code : "store_restored";
      return stream.write(encodeStatusSseFrame({ code, sessionId: frames.session }));
    }
    case "cut":
      // The client reconnects with its cursor and reads at its own pace.
      return stream.end();
    case "gone":
      return stream.write(frames.gone());
  }
}

async function writeEvents(
  stream: EventStream,
  frames: SessionFrames,
  events: readonly StoredEvent[],
): Promise<void> {
  let chunk = "";
  for (const event of events) {
    chunk += frames.event(event);
    if (chunk.length < flushLength) continue;
    await stream.write(chunk);
    if (stream.signal.aborted) return;
    chunk = "";
  }
  if (chunk !== "") await stream.write(chunk);
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

/** Frames are encoded in the order they are written, so a frame's cursors never run ahead of what was sent. */
function watchedSessionFrames(session: SessionId, cursors: Map<SessionId, Seq>): SessionFrames {
  const cursor = (): Seq => cursors.get(session) ?? firstCursor;
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

const reconnectMs = 1_000;

const stoppingStatus = {
  code: "host_stopping",
  text: "The host is stopping. What was said is kept, and what runs goes on elsewhere or with the next start.",
};

const streamForm = {
  opening: encodeSseRetry(reconnectMs),
  stopping: encodeStatusSseFrame(stoppingStatus),
};
