import type {
  AuthProvider,
  JSONRPCMessage,
  StreamableHTTPClientTransport,
  Transport,
} from "@modelcontextprotocol/client";

/** Per response, or per event of a stream. */
const maxBytes = 16 * 1024 * 1024;

export class ConnectionRefusal extends Error {}

const bearerTokens = new WeakMap<Response, string>();

/** The access token of the request that got this response from a bound fetch. */
export const tokenSentFor = (response: Response): string | undefined => bearerTokens.get(response);

/**
 * A fetch for one server. The operator's headers go to the configured origin and nowhere else: not after a redirect,
 * and not to an address the server names.
 */
export function createBoundFetch(
  origin: string,
  send: typeof fetch = fetch,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init = {}) => {
    if (new URL(url).origin !== origin)
      throw new ConnectionRefusal("The server led to another origin, which was not asked.");
    const response = await send(url, { ...init, redirect: "manual" });
    const [, token] =
      /^Bearer (.+)$/.exec(new Headers(init.headers).get("authorization") ?? "") ?? [];
    const remember = (answer: Response): Response => {
      if (token !== undefined) bearerTokens.set(answer, token);
      return answer;
    };
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
      await response.body?.cancel();
      throw new ConnectionRefusal("The server redirects elsewhere, and is not followed.");
    }
    if (response.body === null) return remember(response);
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    const body = response.body.pipeThrough(bounded(isStream ? "event" : "whole"));
    return remember(
      new Response(body, {
        status: response.status,
        statusText: response.statusText,
        headers: response.headers,
      }),
    );
  };
}

/** Counts bytes: all of them, or those since the last empty line. */
function bounded(unit: "event" | "whole"): TransformStream<Uint8Array, Uint8Array> {
  let received = 0;
  let last = 0;
  return new TransformStream({
    transform(bytes, controller) {
      for (const byte of unit === "event" ? bytes : []) {
        received = byte === 10 && last === 10 ? 0 : received + 1;
        if (byte !== 13) last = byte;
      }
      if (unit === "whole") received += bytes.byteLength;
      if (received > maxBytes) controller.error(new Error("The server sent too much at once."));
      else controller.enqueue(bytes);
    },
  });
}

/** The error code of a call whose response stream ended without a response. */
export const streamLost = -32_055;

type SendArguments = Parameters<StreamableHTTPClientTransport["send"]>;
type HttpTransport = Transport & Pick<StreamableHTTPClientTransport, "terminateSession">;

/** A server over streamable HTTP, with the operator's headers or with the tokens of a person's sign-in. */
export function openHttpTransport(
  Streamable: typeof StreamableHTTPClientTransport,
  url: string,
  headers: Readonly<Record<string, string>>,
  authProvider?: AuthProvider,
): HttpTransport {
  const address = new URL(url);
  const transport = new Streamable(address, {
    requestInit: { headers: { ...headers }, redirect: "manual" },
    fetch: createBoundFetch(address.origin),
    ...(authProvider !== undefined && { authProvider }),
    reconnectionOptions: {
      initialReconnectionDelay: 500,
      reconnectionDelayGrowFactor: 2,
      maxReconnectionDelay: 10_000,
      maxRetries: 3,
    },
  });
  const pending = new Set<string | number>();
  // The client calls existing handlers before it installs its own.
  Object.assign(transport, {
    onmessage(message: JSONRPCMessage) {
      if (!("method" in message) && message.id !== undefined) pending.delete(message.id);
    },
  });
  const send = transport.send.bind(transport);
  transport.send = (message: SendArguments[0], options?: SendArguments[1]) => {
    if (Array.isArray(message) || !("method" in message) || !("id" in message))
      return send(message, options);
    const { id } = message;
    pending.add(id);
    // P7: without this, a call on a closed connection would wait for its timeout.
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      if (!pending.delete(id)) return;
      const error = { code: streamLost, message: "The connection ended before an answer came." };
      transport.onmessage?.({ jsonrpc: "2.0", id, error });
    };
    return send(message, { ...options, onRequestStreamEnd }).catch((error: unknown) => {
      pending.delete(id);
      throw error;
    });
  };
  return transport;
}
