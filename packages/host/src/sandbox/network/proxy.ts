import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";

import { coversHost } from "../../agent/policy/match-rules.ts";
import { createEgress, type EgressDeps } from "../../util/egress/egress.ts";

/** One host that a process asked for. */
export interface ReachedHost {
  readonly host: string;
  readonly port: number;
  /** `reached`, or why not: `not_granted`, or a code of the egress rules. */
  readonly outcome: string;
  readonly times: number;
}

export interface Proxy {
  readonly server: Server;
  /** What was asked of it, in order of the first time. */
  readonly reached: () => readonly ReachedHost[];
  readonly closeAllConnections: () => void;
}

export interface ProxyDeps {
  readonly hosts: readonly string[];
  readonly egress: EgressDeps;
}

const maxRecorded = 200;
const connectTimeoutMs = 20_000;
/** Each takes two open files of the process that runs the proxy, which may be the host. */
const maxConnections = 256;
/** Node reads smaller ones from a server, and throws when it is to write one. */
const leastStatus = 200;
/** Headers between the process and the proxy, not meant for the server. */
const hopHeaders = /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i;

/** A proxy for HTTP, and for anything over CONNECT, that lets a process reach the hosts it was granted and no others. */
export function createProxy({ hosts, egress: egressDeps }: ProxyDeps): Proxy {
  const egress = createEgress(egressDeps);
  const recorded = new Map<string, ReachedHost>();
  const open = new Set<Duplex>();

  function record(host: string, port: number, outcome: string): void {
    const key = `${host} ${port} ${outcome}`;
    const times = (recorded.get(key)?.times ?? 0) + 1;
    if (times > 1 || recorded.size < maxRecorded) recorded.set(key, { host, port, outcome, times });
  }

  function track(socket: Duplex): void {
    open.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => open.delete(socket));
  }

  /** The address to connect to, or what to answer. */
  async function admit(
    url: string,
  ): Promise<{ address: string; host: string; port: number } | { status: number; words: string }> {
    const signal = AbortSignal.timeout(connectTimeoutMs);
    const checked = egress.check(url);
    if (!checked.ok) return { status: 400, words: checked.refusal.message };
    const { host, port } = checked.value;
    if (!hosts.some((granted) => coversHost(granted, host))) {
      record(host, port, "not_granted");
      return {
        status: 403,
        words: `${host} was not granted. Add it to hosts and call the tool again.`,
      };
    }
    const found = await egress.addresses(checked.value, signal);
    const address = found.ok ? found.value[0] : undefined;
    if (!found.ok || address === undefined) {
      record(host, port, found.ok ? "unresolved" : found.refusal.code);
      return { status: 403, words: found.ok ? "no address" : found.refusal.message };
    }
    return { address, host, port };
  }

  async function tunnel(incoming: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    track(client);
    const refuse = (status: number, words: string): void =>
      void client.end(
        `HTTP/1.1 ${status} Refused\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n${words}\n`,
      );
    const admitted = await admit(`https://${incoming.url ?? ""}/`);
    if ("status" in admitted) return refuse(admitted.status, admitted.words);
    const { address, host, port } = admitted;
    const server: Socket = connect({ host: address, port, timeout: connectTimeoutMs });
    track(server);
    server.once("timeout", () => server.destroy());
    server.once("connect", () => {
      server.setTimeout(0);
      record(host, port, "reached");
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      if (head.length > 0) server.write(head);
      server.pipe(client);
      client.pipe(server);
    });
    server.once("error", () => {
      record(host, port, "connection");
      refuse(502, `${host} cannot be reached.`);
    });
    server.once("close", () => client.destroy());
    client.once("close", () => server.destroy());
  }

  async function forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const refuse = (status: number, words: string): void =>
      void response.writeHead(status, { "content-type": "text/plain" }).end(`${words}\n`);
    const { url = "", method } = incoming;
    if (!url.startsWith("http://")) return refuse(400, "Only http:// is forwarded; use CONNECT.");
    const admitted = await admit(url);
    if ("status" in admitted) return refuse(admitted.status, admitted.words);
    const { address, host, port } = admitted;
    const target = new URL(url);
    const headers = Object.entries(incoming.headers).filter(([name]) => !hopHeaders.test(name));
    const outgoing = request({
      host: address,
      port,
      method,
      path: `${target.pathname}${target.search}`,
      headers: { ...Object.fromEntries(headers), host: target.host },
      agent: false,
      timeout: connectTimeoutMs,
    });
    outgoing.once("response", (answer) => {
      record(host, port, "reached");
      const kept = Object.entries(answer.headers).filter(([name]) => !hopHeaders.test(name));
      const { statusCode = 0 } = answer;
      if (statusCode < leastStatus) {
        answer.destroy();
        return refuse(502, `${host} answered with the status ${statusCode}.`);
      }
      response.writeHead(statusCode, Object.fromEntries(kept));
      answer.pipe(response);
    });
    outgoing.once("timeout", () => outgoing.destroy(new Error("timeout")));
    outgoing.once("error", () => {
      record(host, port, "connection");
      if (response.headersSent) response.destroy();
      else refuse(502, `${host} cannot be reached.`);
    });
    response.once("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  }

  const server = createServer((incoming, response) => {
    forward(incoming, response).catch(() => response.destroy());
  });
  server.on("connect", (incoming, client, head: Buffer) => {
    tunnel(incoming, client, head).catch(() => client.destroy());
  });
  server.maxConnections = maxConnections;
  server.on("connection", track);
  return {
    server,
    reached: (): readonly ReachedHost[] => [...recorded.values()],
    closeAllConnections: () => {
      for (const socket of open) socket.destroy();
    },
  };
}
