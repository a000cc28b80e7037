import type { Clock } from "@holdfast/engine";
import { encodeSseComment, encodeSseRetry, encodeStatusSseFrame } from "@holdfast/protocol";
import type { Context } from "hono";

import { startStreaming } from "../http/answer.ts";
import { type HostEnv } from "../http/route.ts";
import { shareAbortListener } from "./sse-response.ts";
import { type StreamWriter, writeToConnection, writeToReadable } from "./pipes.ts";

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
