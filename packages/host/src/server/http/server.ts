import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { done, failed, type Outcome, systemCode } from "../../util/outcome.ts";
import type { HostEnv } from "./routing.ts";
import { createAnonymousConnections, type AnonymousConnections } from "./anonymous-clients.ts";

export interface Listener {
  readonly port: number;
  /** The number of open connections. */
  readonly connections: () => Promise<number>;
  /** Accepts no new request, gives those in progress a moment to finish, then closes them. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly anonymousConnections?: AnonymousConnections;
  /** Tests shorten these. */
  readonly timeouts?: Partial<ListenTimeouts>;
}

export interface ListenTimeouts {
  /** For the request head. */
  readonly headMs: number;
  /** For the whole request. */
  readonly requestMs: number;
  /** How often the two are checked. */
  readonly checkMs: number;
}

const defaultTimeouts: ListenTimeouts = { headMs: 10_000, requestMs: 5 * 60_000, checkMs: 2_000 };
const idleMs = 30_000;
const graceMs = 400;
/** Responses wait in memory until the previous ones are read. No browser or proxy pipelines this many requests. */
const maxPipelinedRequests = 32;
/** How long an unread body may continue; resetting the connection at once could lose the response on its way. */
const lingerMs = 250;

export function listen(
  app: Hono<HostEnv>,
  { host, port, anonymousConnections = createAnonymousConnections(), timeouts = {} }: ListenOptions,
): Promise<Outcome<Listener>> {
  const { headMs, requestMs, checkMs: lookMs } = { ...defaultTimeouts, ...timeouts };
  const handle = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    autoCleanupIncoming: false,
  });
  const unfinished = new WeakMap<Duplex, Set<ServerResponse>>();
  function serve(incoming: IncomingMessage, outgoing: ServerResponse): void {
    // Read now: the request no longer has it once the connection is closed.
    const { socket } = incoming;
    const pending = unfinished.get(socket) ?? new Set();
    if (pending.size >= maxPipelinedRequests) return void socket.destroy();
    unfinished.set(socket, pending.add(outgoing));
    outgoing.once("close", () => pending.delete(outgoing));
    if (hasBody(incoming)) outgoing.once("finish", () => closeUnread(incoming, socket));
    void handle(incoming, outgoing);
  }
  const server = createServer(
    {
      headersTimeout: headMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: lookMs,
      keepAliveTimeout: idleMs,
    },
    serve,
  );
  server.on("checkContinue", serve);
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const isAnswering = [...(unfinished.get(socket) ?? [])].some(({ headersSent }) => headersSent);
    if (!isAnswering) answerClientError(error.code ?? "", socket as Socket);
    socket.destroy();
  });
  server.on("connection", (socket) => anonymousConnections.add(socket));

  function close(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => server.closeAllConnections(), graceMs);
      server.close(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  const connections = (): Promise<number> =>
    new Promise((resolve) => server.getConnections((_, count) => resolve(count)));

  return new Promise((resolve) => {
    server.once("error", (error) => resolve(listenFailure(systemCode(error), host, port)));
    server.listen(port, host, () => {
      const address = server.address();
      const actualPort = address !== null && typeof address === "object" ? address.port : port;
      resolve(done({ port: actualPort, connections, close }));
    });
  });
}

const clientErrorStatus: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Payload Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/**
 * Answers as Node does by default, but not on a connection on which nothing was ever sent: clients open some in
 * advance, and would take the answer for that of a request they send at the same moment.
 */
function answerClientError(code: string, socket: Socket): void {
  if (!socket.writable || socket.bytesRead === 0) return;
  const status = clientErrorStatus[code] ?? "400 Bad Request";
  socket.write(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
}

/** Closes the connection instead of reading the rest of a body after the response. */
function closeUnread(incoming: IncomingMessage, socket: Socket): void {
  if (incoming.complete || socket.destroyed) return;
  incoming.pause();
  socket.end();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}

function listenFailure(code: string, host: string, port: number): Outcome<never> {
  if (code === "EADDRINUSE") {
    return failed(
      "port.taken",
      `Port ${port} on ${host} is taken by another program: end that one, or choose another port with HOLDFAST_PORT.`,
    );
  }
  return failed(
    "address.unusable",
    `Holdfast cannot serve on ${host} port ${port} (${code}): choose others with HOLDFAST_HOST and HOLDFAST_PORT.`,
  );
}
