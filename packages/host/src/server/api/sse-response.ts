import type { ServerResponse } from "node:http";
import type { Context } from "hono";
import type { Clock } from "@holdfast/engine";
import { encodeSseComment, encodeSseRetry, encodeStatusSseFrame } from "@holdfast/protocol";
import { startStreaming } from "../http/responses.ts";
import { type HostEnv } from "../http/routing.ts";

const sharedListeners = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal is aborted, at once if it has been. Thousands may hang on one signal: its own listeners are searched
 * through with each that comes and goes, so it gets only one for all of them.
 */
function shareAbortListener(signal: AbortSignal, then: () => void): () => void {
  if (signal.aborted) {
    then();
    return () => {};
  }
  const all = sharedListeners.get(signal) ?? new Set();
  if (!sharedListeners.has(signal)) {
    sharedListeners.set(signal, all);
    signal.addEventListener("abort", () => all.forEach((each) => each()), { once: true });
  }
  all.add(then);
  return () => void all.delete(then);
}

/** Where the texts of a stream go. */
export interface StreamWriter {
  /** One text after the other. Resolves when the client has room for more, or the stream is over. */
  readonly write: (text: string) => Promise<void>;
}

/** A client that has not made room for what waits in so long is not reading any more. */
const writeDeadlineMs = 30_000;
/** What was written before the end gets so long to be taken: who reads nothing would keep it, and the connection, for good. */
const lingerMs = 5_000;
/** So many characters may wait for a client: more, and it is cut off, to come back by its cursor. */
const maxBufferedLength = 8 * 1024 * 1024;

/** Straight into the connection, which says by itself when it is full: nothing is held but what the client has not taken. */
export function writeToConnection(
  outgoing: ServerResponse,
  clock: Clock,
  over: AbortController,
): StreamWriter {
  let room: Promise<void> | undefined;

  function cut(): void {
    over.abort();
    outgoing.destroy();
  }

  async function waitForRoom(): Promise<void> {
    const taken = new AbortController();
    const take = (): void => taken.abort();
    outgoing.once("drain", take);
    over.signal.addEventListener("abort", take, { once: true });
    await clock.sleep(writeDeadlineMs, taken.signal);
    outgoing.removeListener("drain", take);
    over.signal.removeEventListener("abort", take);
    room = undefined;
    if (!taken.signal.aborted) cut();
  }

  async function finish(): Promise<void> {
    // Who has left has taken all that they will.
    if (outgoing.destroyed || outgoing.closed) return;
    const closed = new AbortController();
    outgoing.once("close", () => closed.abort());
    outgoing.end();
    await clock.sleep(lingerMs, closed.signal);
    outgoing.destroy();
  }

  over.signal.addEventListener("abort", () => void finish(), { once: true });
  return {
    write(text) {
      if (over.signal.aborted) return written;
      if (outgoing.write(text)) return written;
      if (outgoing.writableLength > maxBufferedLength) cut();
      return (room ??= waitForRoom());
    },
  };
}

const written = Promise.resolve();

/** The same for who asks without a connection. It holds one piece at most: who writes waits until the one before is taken. */
function writeToReadable(
  clock: Clock,
  over: AbortController,
): StreamWriter & { readonly readable: ReadableStream<Uint8Array> } {
  const encoder = new TextEncoder();
  let queue: Promise<void> = Promise.resolve();
  let waiting = 0;
  let makeRoom: (() => void) | undefined;
  const { promise: started, resolve: start } =
    Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  const readable = new ReadableStream<Uint8Array>(
    { start, pull: () => makeRoom?.(), cancel: () => over.abort() },
    { highWaterMark: 1 },
  );
  over.signal.addEventListener("abort", () => {
    makeRoom?.();
    void started.then(closeQuietly);
  });

  async function waitForRoom(): Promise<void> {
    const taken = new AbortController();
    makeRoom = () => taken.abort();
    await clock.sleep(writeDeadlineMs, taken.signal);
    makeRoom = undefined;
    if (!taken.signal.aborted) over.abort();
  }

  async function push(text: string): Promise<void> {
    const controller = await started;
    waiting -= text.length;
    if (over.signal.aborted) return;
    controller.enqueue(encoder.encode(text));
    if ((controller.desiredSize ?? 0) <= 0) await waitForRoom();
  }

  return {
    readable,
    write(text) {
      waiting += text.length;
      if (waiting > maxBufferedLength) over.abort();
      queue = queue.then(() => push(text));
      return queue;
    },
  };
}

/** One that its reader has cancelled is closed already. */
function closeQuietly(controller: ReadableStreamDefaultController<Uint8Array>): void {
  try {
    controller.close();
  } catch {
    // Nothing is left to close.
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
  // A proxy that gathers what it forwards would hold back what was said.
  "x-accel-buffering": "no",
};

/** The writing end of a response that goes on until one side has had enough. */
export interface EventStream extends StreamWriter {
  /** Aborted when the client has left, was dropped, or the stream was ended. */
  readonly signal: AbortSignal;
  readonly end: () => void;
}

export interface EventStreamDeps {
  readonly clock: Clock;
  /** Aborted when the host begins to stop; `closing` follows when there is nothing more to see. */
  readonly stopping: AbortSignal;
  readonly closing: AbortSignal;
  readonly report: (bug: Error) => void;
}

type Produce = (stream: EventStream) => Promise<void>;

/**
 * Answers with what `produce` writes, and with a heartbeat in between. The stream is over when `produce` is done, when the
 * client leaves or does not read, and when the host stops; then everything that hung on its signal is let go.
 */
export function openEventStream(
  c: Context<HostEnv>,
  parts: EventStreamDeps,
  produce: Produce,
): Response {
  if (c.req.method === "HEAD") return c.body(null, 200, streamHeaders);
  const over = new AbortController();
  const { revoked, isStillValid: isStillGood } = c.get("principal");
  const ends = [parts.closing, revoked];
  const begun = startStreaming(c, streamHeaders);
  if (begun === undefined) {
    const pipe = writeToReadable(parts.clock, over);
    void runStream(parts, { over, pipe, isStillGood, ends: [...ends, c.req.raw.signal] }, produce);
    return c.body(pipe.readable, 200, streamHeaders);
  }
  begun.outgoing.once("close", () => over.abort());
  const pipe = writeToConnection(begun.outgoing, parts.clock, over);
  void runStream(parts, { over, pipe, isStillGood, ends }, produce);
  return begun.response;
}

interface OpenedStream {
  readonly over: AbortController;
  readonly pipe: StreamWriter;
  readonly ends: readonly AbortSignal[];
  /** Whether who opened it may still read on. */
  readonly isStillGood: () => boolean;
}

async function runStream(
  { clock, stopping, report }: EventStreamDeps,
  { over, pipe, ends, isStillGood }: OpenedStream,
  produce: Produce,
): Promise<void> {
  const end = (): void => over.abort();
  const { write } = pipe;
  void write(encodeSseRetry(reconnectMs));
  const hung = ends.map((signal) => shareAbortListener(signal, end));
  hung.push(shareAbortListener(stopping, () => void write(encodeStatusSseFrame(stoppingStatus))));
  void sendHeartbeats(clock, over.signal, async () =>
    isStillGood() ? write(heartbeatFrame) : end(),
  );
  try {
    await produce({ signal: over.signal, write, end });
  } catch (error) {
    report(error instanceof Error ? error : new Error(String(error)));
  } finally {
    end();
    for (const letGo of hung) letGo();
  }
}

const heartbeatFrame = encodeSseComment("still here");

async function sendHeartbeats(
  clock: Clock,
  signal: AbortSignal,
  each: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(heartbeatMs, signal);
    await each();
  }
}
