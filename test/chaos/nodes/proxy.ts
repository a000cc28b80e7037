import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface RoundRobinProxy {
  readonly address: string;
  /** How many requests each target has answered. */
  readonly answered: ReadonlyMap<number, number>;
  stop(): void;
}

/** A host that accepts a request and says nothing for so long is taken for gone. */
const silenceMs = 8_000;

/** A reverse proxy without stickiness: each request goes to the next host, whoever sent it. */
export async function startProxy(
  port: number,
  targets: readonly number[],
): Promise<RoundRobinProxy> {
  let turn = 0;
  const answered = new Map<number, number>();
  const server = createServer((incoming, outgoing) => {
    turn += 1;
    const order = targets.map((_, n) => targets[(turn + n) % targets.length]!);
    void forward(incoming, outgoing, order, answered);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    answered,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Only a request that reached nobody goes on to the next host: what may have been done is the client's to repeat. */
async function forward(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  [port, ...others]: readonly number[],
  answered: Map<number, number>,
): Promise<void> {
  if (port === undefined) return refuse(outgoing, 502);
  const upstream = request({
    host: "127.0.0.1",
    port,
    method: incoming.method,
    path: incoming.url,
    headers: incoming.headers,
    agent: false,
  });
  const late = setTimeout(() => upstream.destroy(new Error("silent")), silenceMs);
  outgoing.on("close", () => upstream.destroy());
  incoming.pipe(upstream);
  upstream.on("response", (response) => {
    clearTimeout(late);
    answered.set(port, (answered.get(port) ?? 0) + 1);
    outgoing.writeHead(response.statusCode ?? 502, response.rawHeaders);
    outgoing.flushHeaders();
    response.pipe(outgoing);
    response.on("error", () => outgoing.destroy());
    response.on("aborted", () => outgoing.destroy());
  });
  upstream.on("error", (error) => {
    clearTimeout(late);
    if (outgoing.headersSent || outgoing.destroyed) return void outgoing.destroy();
    const reached = !("code" in error) || error.code !== "ECONNREFUSED";
    if (reached) return refuse(outgoing, error.message === "silent" ? 504 : 502);
    incoming.unpipe(upstream);
    void forward(incoming, outgoing, others, answered);
  });
}

function refuse(outgoing: ServerResponse, status: 502 | 504): void {
  outgoing.writeHead(status, { "retry-after": "1" });
  outgoing.end();
}
