import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { done, failed, type Outcome, systemCode } from "../../util/outcome.ts";
import type { HostEnv } from "./route.ts";
import { createStrangers, type Strangers } from "./anonymous-clients.ts";

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
  readonly strangers?: Strangers;
  /** Tests shorten these. */
  readonly times?: Partial<ListenTimes>;
}

export interface ListenTimes {
  /** For a request's head. */
  readonly headMs: number;
  /** For all of a request. */
  readonly requestMs: number;
  /** How often the two are looked at. */
  readonly lookMs: number;
}

const usualTimes: ListenTimes = { headMs: 10_000, requestMs: 5 * 60_000, lookMs: 2_000 };
const idleMs = 30_000;
const graceMs = 400;
/** Answers wait in memory until those before them were read. No browser and no proxy asks for so many at once on a connection. */
const mostUnderWay = 32;
/** A body that nobody reads gets this long to stop by itself; resetting at once could lose the answer on its way. */
const lingerMs = 250;

export function listen(
  app: Hono<HostEnv>,
  { host, port, strangers = createStrangers(), times = {} }: ListenOptions,
): Promise<Outcome<Listener>> {
  const { headMs, requestMs, lookMs } = { ...usualTimes, ...times };
  const answer = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    autoCleanupIncoming: false,
  });
  const underWay = new WeakMap<Socket, number>();
  function serve(incoming: IncomingMessage, outgoing: ServerResponse): void {
    // Taken now: a connection that has ended by then is not to be had from the request any more.
    const { socket } = incoming;
    const others = underWay.get(socket) ?? 0;
    if (others >= mostUnderWay) return void socket.destroy();
    underWay.set(socket, others + 1);
    outgoing.once("close", () => underWay.set(socket, (underWay.get(socket) ?? 1) - 1));
    outgoing.once("finish", () => cutUnread(incoming, socket));
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
  server.on("connection", (socket) => strangers.arrive(socket));

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
    server.once("error", (error) => resolve(whyNot(systemCode(error), host, port)));
    server.listen(port, host, () => {
      const address = server.address();
      const taken = address !== null && typeof address === "object" ? address.port : port;
      resolve(done({ port: taken, connections, close }));
    });
  });
}

/** What is still being sent after the answer is not read on: the connection ends, whoever is at its other end. */
function cutUnread(incoming: IncomingMessage, socket: Socket): void {
  if (incoming.complete || socket.destroyed) return;
  incoming.pause();
  socket.end();
  const cut = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(cut));
}

function whyNot(code: string, host: string, port: number): Outcome<never> {
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
