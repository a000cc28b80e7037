import type {
  JSONRPCMessage,
  StreamableHTTPClientTransport,
  Transport,
} from "@modelcontextprotocol/client";

/** What may come back in one piece: an answer, or one event of a stream. */
const largestPiece = 16 * 1024 * 1024;

export class ConnectionRefusal extends Error {}

/**
 * A fetch for one server. What it carries (the operator's headers) goes to the origin that the operator has named and
 * nowhere else: not after a redirect, and not to an address that the server names.
 */
export function createBoundFetch(
  origin: string,
  send: typeof fetch = fetch,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init = {}) => {
    if (new URL(url).origin !== origin)
      throw new ConnectionRefusal("The server led to another origin, which was not asked.");
    const response = await send(url, { ...init, redirect: "manual" });
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
      await response.body?.cancel();
      throw new ConnectionRefusal("The server redirects elsewhere, and is not followed.");
    }
    if (response.body === null) return response;
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    const body = response.body.pipeThrough(bounded(isStream ? "event" : "whole"));
    return new Response(body, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  };
}

/** Counts what is taken: all of it, or what has come since the last empty line. */
function bounded(piece: "event" | "whole"): TransformStream<Uint8Array, Uint8Array> {
  let taken = 0;
  let last = 0;
  return new TransformStream({
    transform(bytes, controller) {
      for (const byte of piece === "event" ? bytes : []) {
        taken = byte === 10 && last === 10 ? 0 : taken + 1;
        if (byte !== 13) last = byte;
      }
      if (piece === "whole") taken += bytes.byteLength;
      if (taken > largestPiece) controller.error(new Error("The server sent too much at once."));
      else controller.enqueue(bytes);
    },
  });
}

/** With this code a call is told that the stream on which its answer was to come has ended without one. */
export const streamLost = -32_055;

type SendArguments = Parameters<StreamableHTTPClientTransport["send"]>;
type HttpTransport = Transport & Pick<StreamableHTTPClientTransport, "terminateSession">;

/**
 * A server over streamable HTTP. There are no sign-ins on behalf of a server: a server that wants one is given what the
 * operator has written down, or refuses.
 */
export function openHttpTransport(
  Streamable: typeof StreamableHTTPClientTransport,
  url: string,
  headers: Readonly<Record<string, string>>,
): HttpTransport {
  const address = new URL(url);
  const transport = new Streamable(address, {
    requestInit: { headers: { ...headers }, redirect: "manual" },
    fetch: createBoundFetch(address.origin),
    reconnectionOptions: {
      initialReconnectionDelay: 500,
      reconnectionDelayGrowFactor: 2,
      maxReconnectionDelay: 10_000,
      maxRetries: 3,
    },
  });
  const waiting = new Set<string | number>();
  // Whoever takes the transport up calls what it finds here first.
  Object.assign(transport, {
    onmessage(message: JSONRPCMessage) {
      if (!("method" in message) && message.id !== undefined) waiting.delete(message.id);
    },
  });
  const send = transport.send.bind(transport);
  transport.send = (message: SendArguments[0], options?: SendArguments[1]) => {
    if (Array.isArray(message) || !("method" in message) || !("id" in message))
      return send(message, options);
    const { id } = message;
    waiting.add(id);
    // P7: without this a call whose connection is gone would wait for its time limit.
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      if (!waiting.delete(id)) return;
      const error = { code: streamLost, message: "The connection ended before an answer came." };
      transport.onmessage?.({ jsonrpc: "2.0", id, error });
    };
    return send(message, { ...options, onRequestStreamEnd }).catch((error: unknown) => {
      waiting.delete(id);
      throw error;
    });
  };
  return transport;
}
