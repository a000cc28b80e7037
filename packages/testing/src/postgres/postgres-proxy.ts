import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/**
 * What the proxy does to traffic.
 * - `pass`: nothing.
 * - `refuse`: new connections are closed, and so are those that exist.
 * - `cut before commit`: the connection ends instead of a COMMIT reaching the server. Then passes again.
 * - `cut after commit`: the COMMIT reaches the server, and the connection ends instead of its answer. Then passes again.
 * - `cut after commit and refuse`: the same, and then nobody gets through.
 */
export type ProxyMode =
  | "pass"
  | "refuse"
  | "cut before commit"
  | "cut after commit"
  | "cut after commit and refuse";

export interface PostgresProxy extends AsyncDisposable {
  readonly url: string;
  readonly mode: ProxyMode;
  set(mode: ProxyMode): void;
}

/** A simple query, and the end of one, on PostgreSQL's wire. */
const commitSent = Buffer.from("COMMIT\0");
const commitAnswered = Buffer.from("COMMIT\0");

/** Stands between a store and its server, and breaks the connection where a test wants it. */
export async function startPostgresProxy(target: string): Promise<PostgresProxy> {
  const upstream = new URL(target);
  const sockets = new Set<Socket>();
  let mode: ProxyMode = "pass";
  const set = (next: ProxyMode): void => {
    mode = next;
    if (next === "refuse") for (const socket of sockets) socket.destroy();
  };

  const server = createServer((client) => {
    if (mode === "refuse") return void client.destroy();
    const backend = connect(Number(upstream.port), upstream.hostname);
    for (const socket of [client, backend]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        backend.destroy();
      });
    }
    client.on("data", (data) => {
      if (mode === "cut before commit" && data.includes(commitSent)) {
        mode = "pass";
        return void client.destroy();
      }
      backend.write(data);
    });
    backend.on("data", (data) => {
      if (mode.startsWith("cut after commit") && data.includes(commitAnswered)) {
        set(mode === "cut after commit" ? "pass" : "refuse");
        return void client.destroy();
      }
      client.write(data);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    get mode() {
      return mode;
    },
    set,
    async [Symbol.asyncDispose]() {
      set("refuse");
      server.close();
      await once(server, "close");
    },
  };
}
