import {
  createSseDecoder,
  decodeSseFrame,
  type SseItem,
  type StreamItem,
  type StoredEvent,
  routes,
  type Seq,
  type SessionId,
  type Cursors,
  encodeCursors,
  type ListHint,
  type Resync,
  type StreamStatus,
} from "@holdfast/protocol";
import {
  readProblem,
  backoffMs,
  type Transport,
  type BuiltRequest,
  sendRequest,
  type ApiError,
  failedResult,
  networkError,
  type Result,
  unexpectedAnswer,
  buildRequest,
} from "./call-route.ts";

/** `offline` after several failures in a row. The stream keeps trying either way. */
export type ConnectionState = "live" | "reconnecting" | "offline";

export interface StreamOptions {
  readonly signal?: AbortSignal;
  readonly onConnection?: ((state: ConnectionState) => void) | undefined;
  /** A host that says nothing for so long, not even a heartbeat, is gone. */
  readonly silenceMs?: number;
}

/** The host will not serve this stream, now or later. */
export interface StreamEnded {
  readonly kind: "ended";
  readonly error: ApiError;
}

const offlineAfterFailures = 3;

/**
 * What the stream says, over as many connections as it takes. `request` is asked anew for each of them, so
 * that it can name the cursor as it is then.
 */
export async function* streamWithReconnect(
  link: Transport,
  request: () => Result<BuiltRequest>,
  options: StreamOptions,
): AsyncGenerator<StreamItem | StreamEnded, void, undefined> {
  const stop = options.signal ?? new AbortController().signal;
  const tell = notifyOnChange(options);
  for (let failures = 1; !stop.aborted; failures++) {
    const built = request();
    if (!built.ok) {
      yield { kind: "ended", error: built.error };
      return;
    }
    const connection = new AbortController();
    const signal = AbortSignal.any([stop, connection.signal]);
    try {
      const opened = await connect(link, built.value, signal, options.silenceMs);
      if (opened.ok) {
        tell("live");
        for await (const item of readSseItems(link, opened.value, signal, options.silenceMs)) {
          failures = 0;
          const decoded = item.kind === "frame" ? decodeSseFrame(item.frame) : null;
          if (decoded !== null) yield decoded;
        }
      } else if (!isTransient(opened.error)) {
        yield { kind: "ended", error: opened.error };
        return;
      }
    } finally {
      connection.abort();
    }
    if (stop.aborted) return;
    tell(connectionStateAfter(failures));
    await link.sleep(backoffMs(Math.max(1, failures), link.random), stop);
  }
}

export function connectionStateAfter(failures: number): ConnectionState {
  return failures < offlineAfterFailures ? "reconnecting" : "offline";
}

/** Tells each state once, when it changes. */
export function notifyOnChange({ onConnection }: StreamOptions): (state: ConnectionState) => void {
  let told: ConnectionState | null = null;
  return (state) => {
    if (state !== told) onConnection?.(state);
    told = state;
  };
}

/** Whether waiting may help: the network, an overload, a host that is starting. */
export function isTransient(error: ApiError): boolean {
  if (error.kind === "problem") return error.problem.status >= 500 || error.problem.status === 429;
  if (error.kind === "unexpected") return error.status >= 500 || error.status === 429;
  return true;
}

async function connect(
  link: Transport,
  request: BuiltRequest,
  signal: AbortSignal,
  silenceMs?: number,
): Promise<Result<ReadableStream<Uint8Array>>> {
  try {
    const response = await withSilenceTimeout(
      link,
      sendRequest(link, request, signal),
      signal,
      silenceMs,
    );
    if (response === "silent") return failedResult(networkError("The host does not answer."));
    if (!response.ok) return failedResult(await readProblem(response));
    if (response.body !== null) return { ok: true, value: response.body };
    return failedResult(unexpectedAnswer(response.status, "The stream has no body."));
  } catch (cause) {
    return failedResult(networkError(cause));
  }
}

/** Ends when the connection does, whoever ended it and however. */
async function* readSseItems(
  link: Transport,
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  silenceMs?: number,
): AsyncGenerator<SseItem, void, undefined> {
  const decoder = createSseDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const lost = () => "silent" as const;
      const piece = await withSilenceTimeout(link, reader.read().catch(lost), signal, silenceMs);
      if (piece === "silent" || piece.done) return;
      yield* decoder.push(piece.value);
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** `silent` when nothing came in time, and when the signal says stop, which an injected `fetch` may not heed. */
async function withSilenceTimeout<T>(
  link: Transport,
  awaited: Promise<T>,
  signal: AbortSignal,
  silenceMs = 45_000,
): Promise<T | "silent"> {
  const answered = new AbortController();
  const silence = link
    .sleep(silenceMs, AbortSignal.any([signal, answered.signal]))
    .then(() => "silent" as const);
  try {
    return await Promise.race([awaited, silence]);
  } finally {
    answered.abort();
  }
}

export type FollowItem =
  | { readonly kind: "event"; readonly event: StoredEvent }
  /** The last item: read the session again, and follow from there. */
  | { readonly kind: "resync"; readonly resync: Resync }
  | { readonly kind: "status"; readonly status: StreamStatus }
  | StreamEnded;

/** A session's events after a number: each once, in order, over any number of connections. */
export async function* followSession(
  link: Transport,
  id: SessionId,
  after: Seq,
  options: StreamOptions,
): AsyncGenerator<FollowItem, void, undefined> {
  let cursor = after;
  const request = () =>
    buildRequest(link, routes.followSession, { params: { id }, query: { after: cursor } });
  for await (const item of streamWithReconnect(link, request, options)) {
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
  /** One of the sessions must be read again; the stream goes on, for that one from `seq`. */
  | { readonly kind: "resync"; readonly resync: Resync }
  | { readonly kind: "status"; readonly status: StreamStatus }
  | { readonly kind: "list"; readonly hint: ListHint }
  | StreamEnded;

/** One stream for several sessions. Each keeps its own order; between them there is none. */
export async function* watchSessions(
  link: Transport,
  from: Cursors,
  options: StreamOptions,
): AsyncGenerator<WatchItem, void, undefined> {
  const cursors = new Map(from);
  const request = () =>
    buildRequest(link, routes.watchSessions, { query: { watch: encodeCursors(cursors) } });
  for await (const item of streamWithReconnect(link, request, options)) {
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
