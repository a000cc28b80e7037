import type { Clock } from "@holdfast/engine";
import { encodeSseComment } from "@holdfast/protocol";
import type { Context } from "hono";
import {
  startStreaming,
  type StreamWriter,
  writeToConnection,
  writeToReadable,
} from "./responses.ts";
import type { HostEnv } from "./routing.ts";

const heartbeatMs = 15_000;

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

/** What a protocol adds to its streams. */
export interface StreamForm {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent first. */
  readonly opening?: string;
  /** Sent when the host starts to stop. */
  readonly stopping?: string;
}

/**
 * Responds with what `produce` writes, and with heartbeats in between. The stream is over when `produce` returns, the
 * client disconnects or stalls, or the host stops; its signal then releases everything attached to it.
 */
export function openEventStream(
  c: Context<HostEnv>,
  deps: EventStreamDeps,
  produce: Produce,
  form: StreamForm = {},
): Response {
  const headers = { ...streamHeaders, ...form.headers };
  if (c.req.method === "HEAD") return c.body(null, 200, headers);
  const ended = new AbortController();
  const { revoked, isStillValid } = c.get("principal");
  const endSignals = [deps.closing, revoked];
  const streaming = startStreaming(c, headers);
  if (streaming === undefined) {
    const writer = writeToReadable(deps.clock, ended);
    void runStream(
      deps,
      { ended, writer, isStillValid, form, endSignals: [...endSignals, c.req.raw.signal] },
      produce,
    );
    return c.body(writer.readable, 200, headers);
  }
  streaming.outgoing.once("close", () => ended.abort());
  const writer = writeToConnection(streaming.outgoing, deps.clock, ended);
  void runStream(deps, { ended, writer, isStillValid, form, endSignals }, produce);
  return streaming.response;
}

interface OpenedStream {
  readonly ended: AbortController;
  readonly writer: StreamWriter;
  readonly endSignals: readonly AbortSignal[];
  readonly form: StreamForm;
  /** Whether the sign-in that opened the stream is still valid. */
  readonly isStillValid: () => boolean;
}

async function runStream(
  { clock, stopping, report }: EventStreamDeps,
  { ended, writer, endSignals, isStillValid, form }: OpenedStream,
  produce: Produce,
): Promise<void> {
  const end = (): void => ended.abort();
  const { write } = writer;
  if (form.opening !== undefined) void write(form.opening);
  const removeListeners = endSignals.map((signal) => shareAbortListener(signal, end));
  const { stopping: stoppingFrame } = form;
  if (stoppingFrame !== undefined)
    removeListeners.push(shareAbortListener(stopping, () => void write(stoppingFrame)));
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
