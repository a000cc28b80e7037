import {
  type StreamItem,
  type StoredEvent,
  type Seq,
  type SessionId,
  type Cursors,
  type ListHint,
  type Resync,
  type StreamStatus,
  withTimeout,
} from "@holdfast/protocol";
import {
  type ApiError,
  failedResult,
  networkError,
  type Result,
  type Transport,
  waitBeforeRetry,
} from "./call-route.ts";
import type { EventStream, OpenStream, StreamBatch, StreamRequest } from "./event-stream.ts";

/** A transport that can also follow. */
export interface StreamTransport extends Transport {
  readonly openStream: OpenStream;
}

/** `offline` after several failures in a row. The stream keeps trying either way. */
export type ConnectionState = "live" | "reconnecting" | "offline";

export interface StreamOptions {
  readonly signal?: AbortSignal;
  readonly onConnection?: ((state: ConnectionState) => void) | undefined;
  /** A host that sends nothing for this long, not even a heartbeat, is gone. */
  readonly silenceMs?: number;
}

/** The host will not serve this stream, now or later. */
export interface StreamEnded {
  readonly kind: "ended";
  readonly error: ApiError;
}

const offlineAfterFailures = 3;

/**
 * The items of a stream, across as many connections as it takes. `request` is called anew for each of them, so that it
 * can name the current cursor.
 */
async function* streamWithReconnect(
  transport: StreamTransport,
  request: () => StreamRequest,
  options: StreamOptions,
): AsyncGenerator<StreamItem | StreamEnded, void, undefined> {
  const stop = options.signal ?? new AbortController().signal;
  const notify = notifyOnChange(options);
  for (let failures = 1; !stop.aborted; failures++) {
    const connection = new AbortController();
    const signal = AbortSignal.any([stop, connection.signal]);
    try {
      const opened = await connect(transport, request(), signal, options.silenceMs);
      if (opened.ok) {
        notify("live");
        for await (const batch of readBatches(transport, opened.value, signal, options.silenceMs))
          for (const item of batch) {
            failures = 0;
            if (item.kind !== "heartbeat") yield item;
          }
      } else if (!isTransient(opened.error)) {
        yield { kind: "ended", error: opened.error };
        return;
      }
    } finally {
      connection.abort();
    }
    if (stop.aborted) return;
    notify(connectionStateAfter(failures));
    await waitBeforeRetry(transport, failures, stop);
  }
}

export function connectionStateAfter(failures: number): ConnectionState {
  return failures < offlineAfterFailures ? "reconnecting" : "offline";
}

/** Reports each state once, when it changes. */
export function notifyOnChange({ onConnection }: StreamOptions): (state: ConnectionState) => void {
  let lastState: ConnectionState | null = null;
  return (state) => {
    if (state !== lastState) onConnection?.(state);
    lastState = state;
  };
}

/** Whether waiting may help: the network, an overload, a host that is starting. */
export function isTransient(error: ApiError): boolean {
  if (error.kind === "problem") return error.problem.status >= 500 || error.problem.status === 429;
  if (error.kind === "unexpected") return error.status >= 500 || error.status === 429;
  return true;
}

async function connect(
  transport: StreamTransport,
  request: StreamRequest,
  signal: AbortSignal,
  silenceMs?: number,
): Promise<Result<EventStream>> {
  const opening = transport.openStream(request, signal);
  const opened = await withSilenceTimeout(transport, opening, signal, silenceMs);
  return opened === "silent" ? failedResult(networkError("The host does not answer.")) : opened;
}

/** Ends when the connection does, for whatever reason. */
async function* readBatches(
  transport: Transport,
  stream: EventStream,
  signal: AbortSignal,
  silenceMs?: number,
): AsyncGenerator<StreamBatch, void, undefined> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const lost = () => "silent" as const;
      const read = await withSilenceTimeout(
        transport,
        reader.read().catch(lost),
        signal,
        silenceMs,
      );
      if (read === "silent" || read.done) return;
      yield read.value;
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** `silent` if nothing came in time, or if the signal is aborted, which an injected `fetch` or `openStream` may ignore. */
async function withSilenceTimeout<T>(
  transport: Transport,
  awaited: Promise<T>,
  signal: AbortSignal,
  silenceMs = 45_000,
): Promise<T | "silent"> {
  const limit = { clock: transport, ms: silenceMs, signal };
  const answer = await withTimeout(limit, () => awaited);
  return answer.status === "done" ? answer.value : "silent";
}

export type FollowItem =
  | { readonly kind: "event"; readonly event: StoredEvent }
  /** The last item: read the session again, and follow from there. */
  | { readonly kind: "resync"; readonly resync: Resync }
  | { readonly kind: "status"; readonly status: StreamStatus }
  | StreamEnded;

/** A session's events after a seq: each once, in order, across any number of connections. */
export async function* followSession(
  transport: StreamTransport,
  id: SessionId,
  after: Seq,
  options: StreamOptions,
): AsyncGenerator<FollowItem, void, undefined> {
  let cursor = after;
  const request = (): StreamRequest => ({ kind: "session", id, after: cursor });
  for await (const item of streamWithReconnect(transport, request, options)) {
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
  /** One of the sessions must be read again; the stream continues, for that one from `seq`. */
  | { readonly kind: "resync"; readonly resync: Resync }
  | { readonly kind: "status"; readonly status: StreamStatus }
  | { readonly kind: "list"; readonly hint: ListHint }
  | StreamEnded;

/** One stream for several sessions. Each keeps its own order; there is none between them. */
export async function* watchSessions(
  transport: StreamTransport,
  from: Cursors,
  options: StreamOptions,
): AsyncGenerator<WatchItem, void, undefined> {
  const cursors = new Map(from);
  const request = (): StreamRequest => ({ kind: "watch", cursors: new Map(cursors) });
  for await (const item of streamWithReconnect(transport, request, options)) {
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
