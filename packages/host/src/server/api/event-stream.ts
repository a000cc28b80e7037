import type { Clock } from "@holdfast/engine";
import { encodeComment, encodeRetry, encodeStatus } from "@holdfast/protocol";
import type { Context } from "hono";

import { beginAnswer } from "../http/answer.ts";
import { type HostEnv } from "../http/route.ts";
import { hangOn } from "./sse-response.ts";
import { type Pipe, pipeToConnection, pipeToReader } from "./pipes.ts";

const heartbeatMs = 15_000;
const reconnectMs = 1_000;

const hostStops = {
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
export interface EventStream extends Pipe {
  /** Aborted when the client has left, was dropped, or the stream was ended. */
  readonly signal: AbortSignal;
  readonly end: () => void;
}

export interface StreamParts {
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
  parts: StreamParts,
  produce: Produce,
): Response {
  if (c.req.method === "HEAD") return c.body(null, 200, streamHeaders);
  const over = new AbortController();
  const { revoked, isStillGood } = c.get("principal");
  const ends = [parts.closing, revoked];
  const begun = beginAnswer(c, streamHeaders);
  if (begun === undefined) {
    const pipe = pipeToReader(parts.clock, over);
    void run(parts, { over, pipe, isStillGood, ends: [...ends, c.req.raw.signal] }, produce);
    return c.body(pipe.readable, 200, streamHeaders);
  }
  begun.outgoing.once("close", () => over.abort());
  const pipe = pipeToConnection(begun.outgoing, parts.clock, over);
  void run(parts, { over, pipe, isStillGood, ends }, produce);
  return begun.response;
}

interface Opened {
  readonly over: AbortController;
  readonly pipe: Pipe;
  readonly ends: readonly AbortSignal[];
  /** Whether who opened it may still read on. */
  readonly isStillGood: () => boolean;
}

async function run(
  { clock, stopping, report }: StreamParts,
  { over, pipe, ends, isStillGood }: Opened,
  produce: Produce,
): Promise<void> {
  const end = (): void => over.abort();
  const { write } = pipe;
  void write(encodeRetry(reconnectMs));
  const hung = ends.map((signal) => hangOn(signal, end));
  hung.push(hangOn(stopping, () => void write(encodeStatus(hostStops))));
  void beat(clock, over.signal, async () => (isStillGood() ? write(stillHere) : end()));
  try {
    await produce({ signal: over.signal, write, end });
  } catch (error) {
    report(error instanceof Error ? error : new Error(String(error)));
  } finally {
    end();
    for (const letGo of hung) letGo();
  }
}

const stillHere = encodeComment("still here");

async function beat(clock: Clock, signal: AbortSignal, each: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(heartbeatMs, signal);
    await each();
  }
}
