import type {
  JSONRPCMessage,
  StreamableHTTPClientTransport,
  Transport,
} from "@modelcontextprotocol/client";

import { createBoundFetch } from "./http-transport.ts";

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
