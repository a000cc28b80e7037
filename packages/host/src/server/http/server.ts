import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { done, failed, type Outcome, systemCode } from "../../util/outcome.ts";
import type { HostEnv } from "./routing.ts";
import { createAnonymousConnections, type AnonymousConnections } from "./anonymous-clients.ts";

export interface Listener {
  readonly port: number;
  /** How many connections are open. */
  readonly connections: () => Promise<number>;
  /** Takes no new request, lets those under way end for a moment, then cuts them off. */
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
  /** For a request's head. */
  readonly headMs: number;
  /** For all of a request. */
  readonly requestMs: number;
  /** How often the two are looked at. */
  readonly lookMs: number;
}

const defaultTimeouts: ListenTimeouts = { headMs: 10_000, requestMs: 5 * 60_000, lookMs: 2_000 };
const idleMs = 30_000;
const graceMs = 400;
/** Answers wait in memory until those before them were read. No browser and no proxy asks for so many at once on a connection. */
const maxPipelinedRequests = 32;
/** A body that nobody reads gets this long to stop by itself; resetting at once could lose the answer on its way. */
const lingerMs = 250;

export function listen(
  app: Hono<HostEnv>,
  {
    host,
    port,
    anonymousConnections: strangers = createAnonymousConnections(),
    timeouts: times = {},
  }: ListenOptions,
): Promise<Outcome<Listener>> {
  const { headMs, requestMs, lookMs } = { ...defaultTimeouts, ...times };
  const answer = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    autoCleanupIncoming: false,
  });
  const underWay = new WeakMap<Socket, number>();
  function serve(incoming: IncomingMessage, outgoing: ServerResponse): void {
    // Taken now: a connection that has ended by then is not to be had from the request any more.
    const { socket } = incoming;
    const others = underWay.get(socket) ?? 0;
    if (others >= maxPipelinedRequests) return void socket.destroy();
    underWay.set(socket, others + 1);
    outgoing.once("close", () => underWay.set(socket, (underWay.get(socket) ?? 1) - 1));
    outgoing.once("finish", () => closeUnread(incoming, socket));
    void answer(incoming, outgoing);
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
  server.on("connection", (socket) => strangers.add(socket));

  function close(): Promise<void> {
    return new Promise((resolve) => {
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      server.close(() => {
        clearTimeout(cut);
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
      const taken = address !== null && typeof address === "object" ? address.port : port;
      resolve(done({ port: taken, connections, close }));
    });
  });
}

/** What is still being sent after the answer is not read on: the connection ends, whoever is at its other end. */
function closeUnread(incoming: IncomingMessage, socket: Socket): void {
  if (incoming.complete || socket.destroyed) return;
  incoming.pause();
  socket.end();
  const cut = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(cut));
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
