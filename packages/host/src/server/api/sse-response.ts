import type { ServerResponse } from "node:http";
import type { Context } from "hono";
import type { Clock } from "@holdfast/engine";
import { encodeSseComment, encodeSseRetry, encodeStatusSseFrame } from "@holdfast/protocol";
import { startStreaming } from "../http/responses.ts";
import { type HostEnv } from "../http/routing.ts";

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

export interface StreamWriter {
  /** Writes in order. Resolves when the client has room for more or the stream is over. */
  readonly write: (text: string) => Promise<void>;
}

/** A client that has not drained its buffer for this long has stopped reading. */
const writeDeadlineMs = 30_000;
/**
 * How long an ended stream waits for the client to read the rest: otherwise a client could hold the connection for
 * good.
 */
const lingerMs = 5_000;
/** A client with more than this pending is cut off, and resumes from its cursor. */
const maxBufferedLength = 8 * 1024 * 1024;

/**
 * Writes straight to the connection, which signals when it is full: nothing is buffered but what the client has not
 * read.
 */
export function writeToConnection(
  outgoing: ServerResponse,
  clock: Clock,
  ended: AbortController,
): StreamWriter {
  let room: Promise<void> | undefined;

  function cut(): void {
    ended.abort();
    outgoing.destroy();
  }

  async function waitForRoom(): Promise<void> {
    const drained = new AbortController();
    const onDrain = (): void => drained.abort();
    outgoing.once("drain", onDrain);
    ended.signal.addEventListener("abort", onDrain, { once: true });
    await clock.sleep(writeDeadlineMs, drained.signal);
    outgoing.removeListener("drain", onDrain);
    ended.signal.removeEventListener("abort", onDrain);
    room = undefined;
    if (!drained.signal.aborted) cut();
  }

  async function finish(): Promise<void> {
    // A disconnected client reads nothing more.
    if (outgoing.destroyed || outgoing.closed) return;
    const closed = new AbortController();
    outgoing.once("close", () => closed.abort());
    outgoing.end();
    await clock.sleep(lingerMs, closed.signal);
    outgoing.destroy();
  }

  ended.signal.addEventListener("abort", () => void finish(), { once: true });
  return {
    write(text) {
      if (ended.signal.aborted) return written;
      if (outgoing.write(text)) return written;
      if (outgoing.writableLength > maxBufferedLength) cut();
      return (room ??= waitForRoom());
    },
  };
}

const written = Promise.resolve();

/** The same for requests without a connection. Buffers one chunk: a writer waits until the previous one is read. */
function writeToReadable(
  clock: Clock,
  ended: AbortController,
): StreamWriter & { readonly readable: ReadableStream<Uint8Array> } {
  const encoder = new TextEncoder();
  let queue: Promise<void> = Promise.resolve();
  let pendingLength = 0;
  let makeRoom: (() => void) | undefined;
  const { promise: started, resolve: start } =
    Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  const readable = new ReadableStream<Uint8Array>(
    { start, pull: () => makeRoom?.(), cancel: () => ended.abort() },
    { highWaterMark: 1 },
  );
  ended.signal.addEventListener("abort", () => {
    makeRoom?.();
    void started.then(closeQuietly);
  });

  async function waitForRoom(): Promise<void> {
    const drained = new AbortController();
    makeRoom = () => drained.abort();
    await clock.sleep(writeDeadlineMs, drained.signal);
    makeRoom = undefined;
    if (!drained.signal.aborted) ended.abort();
  }

  async function push(text: string): Promise<void> {
    const controller = await started;
    pendingLength -= text.length;
    if (ended.signal.aborted) return;
    controller.enqueue(encoder.encode(text));
    if ((controller.desiredSize ?? 0) <= 0) await waitForRoom();
  }

  return {
    readable,
    write(text) {
      pendingLength += text.length;
      if (pendingLength > maxBufferedLength) ended.abort();
      queue = queue.then(() => push(text));
      return queue;
    },
  };
}

/** A stream cancelled by its reader is already closed. */
function closeQuietly(controller: ReadableStreamDefaultController<Uint8Array>): void {
  try {
    controller.close();
  } catch {
    // Already closed.
  }
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
export interface EventStream extends StreamWriter {
  /** Aborted when the client disconnects or is dropped, or the stream ends. */
  readonly signal: AbortSignal;
  readonly end: () => void;
}

export interface EventStreamDeps {
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
export function openEventStream(
  c: Context<HostEnv>,
  deps: EventStreamDeps,
  produce: Produce,
): Response {
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
