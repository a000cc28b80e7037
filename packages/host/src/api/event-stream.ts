import type { Clock } from "@holdfast/engine";
import { encodeComment, encodeRetry, encodeStatus } from "@holdfast/protocol";
import type { Context } from "hono";

import type { HostEnv } from "../http/index.ts";

const heartbeatMs = 15_000;
/** A client that has not made room for what waits in so long is not reading any more. */
const writeDeadlineMs = 30_000;
const reconnectMs = 1_000;

const hostStops = {
  code: "host_stopping",
  text: "The host is stopping. What was said is kept, and what runs goes on elsewhere or with the next start.",
};

/** The writing end of a response that goes on until one side has had enough. */
export interface EventStream {
  /** Aborted when the client has left, was dropped, or the stream was ended. */
  readonly signal: AbortSignal;
  /** One text after the other. Resolves when the client has room for more, or the stream is over. */
  readonly write: (text: string) => Promise<void>;
  readonly end: () => void;
}

export interface StreamParts {
  readonly clock: Clock;
  /** Aborted when the host begins to stop; `closing` follows when there is nothing more to see. */
  readonly stopping: AbortSignal;
  readonly closing: AbortSignal;
  readonly report: (bug: Error) => void;
}

/**
 * Answers with what `produce` writes, and with a heartbeat in between. The stream is over when `produce` is done, when the
 * client leaves or does not read, and when the host stops; then everything that hung on its signal is let go.
 */
export function openEventStream(
  c: Context<HostEnv>,
  { clock, stopping, closing, report }: StreamParts,
  produce: (stream: EventStream) => Promise<void>,
): Response {
  const over = new AbortController();
  const end = (): void => over.abort();
  const left = c.req.raw.signal;
  const { revoked } = c.get("principal");
  const ends = [closing, left, revoked];
  const pipe = createPipe(clock, over, () => c.env.outgoing?.destroy());

  const tellOfStop = (): void => void pipe.write(encodeStatus(hostStops));

  async function run(): Promise<void> {
    stopping.addEventListener("abort", tellOfStop, { once: true });
    for (const signal of ends) signal.addEventListener("abort", end, { once: true });
    if (ends.some((signal) => signal.aborted)) end();
    void pipe.write(encodeRetry(reconnectMs));
    void beat(clock, over.signal, pipe.write);
    try {
      await produce({ signal: over.signal, write: pipe.write, end });
    } catch (error) {
      report(error instanceof Error ? error : new Error(String(error)));
    } finally {
      end();
      stopping.removeEventListener("abort", tellOfStop);
      for (const signal of ends) signal.removeEventListener("abort", end);
    }
  }

  const headers = {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    // A proxy that gathers what it forwards would hold back what was said.
    "x-accel-buffering": "no",
  };
  if (c.req.method === "HEAD") return c.body(null, 200, headers);
  void run();
  return c.body(pipe.readable, 200, headers);
}

async function beat(
  clock: Clock,
  signal: AbortSignal,
  write: (text: string) => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(heartbeatMs, signal);
    await write(encodeComment("still here"));
  }
}

interface Pipe {
  readonly readable: ReadableStream<Uint8Array>;
  readonly write: EventStream["write"];
}

/** So many characters may wait for a client: more, and it is cut off, to come back by its cursor. */
const mostWaiting = 8 * 1024 * 1024;

/** Holds one piece at most: whoever writes waits until the client has taken the one before. */
function createPipe(clock: Clock, over: AbortController, disconnect: () => void): Pipe {
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
    if (!taken.signal.aborted) cut();
  }

  function cut(): void {
    over.abort();
    disconnect();
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
      if (waiting > mostWaiting && !over.signal.aborted) cut();
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
