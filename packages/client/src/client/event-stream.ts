import {
  createSseDecoder,
  type Cursors,
  decodeSseFrame,
  encodeCursors,
  routes,
  type Seq,
  type SessionId,
  type SseItem,
  type StreamItem,
} from "@holdfast/protocol";
import {
  buildRequest,
  type BuiltRequest,
  failedResult,
  networkError,
  readProblem,
  type RequestTransport,
  type Result,
  sendRequest,
  unexpectedAnswer,
} from "./call-route.ts";

/** One session's events, or those of several sessions and list hints. */
export type StreamRequest =
  | { readonly kind: "session"; readonly id: SessionId; readonly after: Seq }
  | { readonly kind: "watch"; readonly cursors: Cursors };

/** The host is alive but sent nothing that this version understands. */
export interface Heartbeat {
  readonly kind: "heartbeat";
}

/** Items that arrived together; empty if none is complete yet. */
export type StreamBatch = readonly (StreamItem | Heartbeat)[];

/** Ends with its connection. The reader reconnects. */
export type EventStream = ReadableStream<StreamBatch>;

/** Opens one connection. The stream ends when the signal is aborted. */
export type OpenStream = (
  request: StreamRequest,
  signal: AbortSignal,
) => Promise<Result<EventStream>>;

/** Opens event streams over HTTP, and decodes each frame once. */
export function createStreamOpener(transport: RequestTransport): OpenStream {
  return async (request, signal) => {
    const built = buildStreamRequest(transport, request);
    if (!built.ok) return built;
    try {
      const response = await sendRequest(transport, built.value, signal);
      if (!response.ok) return failedResult(await readProblem(response));
      if (response.body !== null) return { ok: true, value: decodeBody(response.body) };
      return failedResult(unexpectedAnswer(response.status, "The stream has no body."));
    } catch (cause) {
      return failedResult(networkError(cause));
    }
  };
}

function buildStreamRequest(
  transport: RequestTransport,
  request: StreamRequest,
): Result<BuiltRequest> {
  if (request.kind === "session") {
    const { id, after } = request;
    return buildRequest(transport, routes.followSession, { params: { id }, query: { after } });
  }
  const query = { watch: encodeCursors(request.cursors) };
  return buildRequest(transport, routes.watchSessions, { query });
}

function decodeBody(body: ReadableStream<Uint8Array>): EventStream {
  const decoder = createSseDecoder();
  const reader = body.getReader();
  return new ReadableStream<StreamBatch>(
    {
      async pull(controller) {
        const chunk = await reader.read();
        if (chunk.done) controller.close();
        else controller.enqueue(decoder.push(chunk.value).map(decodeItem));
      },
      cancel: (reason) => reader.cancel(reason),
    },
    // Reads only on demand, as the body itself does.
    { highWaterMark: 0 },
  );
}

function decodeItem(item: SseItem): StreamItem | Heartbeat {
  const decoded = item.kind === "frame" ? decodeSseFrame(item.frame) : null;
  return decoded ?? { kind: "heartbeat" };
}
