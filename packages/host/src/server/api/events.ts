import type { Clock, TailItem } from "@holdfast/engine";
import {
  decodeCursors,
  encodeEventSseFrame,
  encodeListSseFrame,
  encodeResyncSseFrame,
  encodeSseComment,
  encodeSseRetry,
  encodeStatusSseFrame,
  encodeWatchedSseFrame,
  type OwnerId,
  type Seq,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import type { Context } from "hono";

import {
  startStreaming,
  type StreamWriter,
  writeToConnection,
  writeToReadable,
} from "../http/responses.ts";
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
    return openEventStream(c, deps, (stream) =>
      writeSession(stream, owner, singleSessionFrames(id, after)),
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
    return openEventStream(c, deps, async (stream) => {
      const unwatch = hints.watch(owner, (frames) => void stream.write(frames));
      stream.signal.addEventListener("abort", unwatch, { once: true });
      const sessionFrames = [...cursors.keys()].map((id) => watchedSessionFrames(id, cursors));
      await Promise.all(sessionFrames.map((frames) => writeSession(stream, owner, frames)));
      await untilAborted(stream.signal);
    });
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

const heartbeatMs = 15_000;
const reconnectMs = 1_000;

const stoppingStatus = {
  code: "host_stopping",
  text: "The host is stopping. What was said is kept, and what runs goes on elsewhere or with the next start.",
};

const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // Stops buffering proxies from holding back output.
  "x-accel-buffering": "no",
};

/** The writing end of a response that lasts until one side ends it. */
interface EventStream extends StreamWriter {
  /** Aborted when the client disconnects or is dropped, or the stream ends. */
  readonly signal: AbortSignal;
  readonly end: () => void;
}

interface EventStreamDeps {
  readonly clock: Clock;
  /** Aborted when the host starts to stop; `closing` follows once there is nothing more to send. */
  readonly stopping: AbortSignal;
  readonly closing: AbortSignal;
  readonly report: (bug: Error) => void;
}

type Produce = (stream: EventStream) => Promise<void>;

/**
 * Responds with what `produce` writes, and with heartbeats in between. The stream is over when `produce` returns, the
 * client disconnects or stalls, or the host stops; its signal then releases everything attached to it.
 */
function openEventStream(c: Context<HostEnv>, deps: EventStreamDeps, produce: Produce): Response {
  if (c.req.method === "HEAD") return c.body(null, 200, streamHeaders);
  const ended = new AbortController();
  const { revoked, isStillValid } = c.get("principal");
  const endSignals = [deps.closing, revoked];
  const streaming = startStreaming(c, streamHeaders);
  if (streaming === undefined) {
    const writer = writeToReadable(deps.clock, ended);
    void runStream(
      deps,
      { ended, writer, isStillValid, endSignals: [...endSignals, c.req.raw.signal] },
      produce,
    );
    return c.body(writer.readable, 200, streamHeaders);
  }
  streaming.outgoing.once("close", () => ended.abort());
  const writer = writeToConnection(streaming.outgoing, deps.clock, ended);
  void runStream(deps, { ended, writer, isStillValid, endSignals }, produce);
  return streaming.response;
}

interface OpenedStream {
  readonly ended: AbortController;
  readonly writer: StreamWriter;
  readonly endSignals: readonly AbortSignal[];
  /** Whether the sign-in that opened the stream is still valid. */
  readonly isStillValid: () => boolean;
}

async function runStream(
  { clock, stopping, report }: EventStreamDeps,
  { ended, writer, endSignals, isStillValid }: OpenedStream,
  produce: Produce,
): Promise<void> {
  const end = (): void => ended.abort();
  const { write } = writer;
  void write(encodeSseRetry(reconnectMs));
  const removeListeners = endSignals.map((signal) => shareAbortListener(signal, end));
  removeListeners.push(
    shareAbortListener(stopping, () => void write(encodeStatusSseFrame(stoppingStatus))),
  );
  void sendHeartbeats(clock, ended.signal, async () =>
    isStillValid() ? write(heartbeatFrame) : end(),
  );
  try {
    await produce({ signal: ended.signal, write, end });
  } catch (error) {
    report(error instanceof Error ? error : new Error(String(error)));
  } finally {
    end();
    for (const removeListener of removeListeners) removeListener();
  }
}

const heartbeatFrame = encodeSseComment("still here");

async function sendHeartbeats(
  clock: Clock,
  signal: AbortSignal,
  beat: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(heartbeatMs, signal);
    await beat();
  }
}

const sharedListeners = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal is aborted, at once if it already is. A signal scans all its listeners on each add and
 * remove, so thousands of streams share a single one.
 */
function shareAbortListener(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback();
    return () => {};
  }
  const listeners = sharedListeners.get(signal) ?? new Set();
  if (!sharedListeners.has(signal)) {
    sharedListeners.set(signal, listeners);
    signal.addEventListener("abort", () => listeners.forEach((listener) => listener()), {
      once: true,
    });
  }
  listeners.add(callback);
  return () => void listeners.delete(callback);
}
