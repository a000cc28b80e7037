import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/**
 * What the proxy does to traffic.
 *
 * - `pass`: nothing.
 * - `refuse`: closes existing and new connections.
 * - `hold`: accepts connections but forwards nothing, like a paused server, until the mode changes.
 * - `cut before commit`: ends the connection instead of forwarding a COMMIT. Then passes again.
 * - `cut after commit`: forwards the COMMIT, and ends the connection instead of returning its reply. Then passes
 * again.
 * - `cut after commit and refuse`: the same, and then nobody gets through.
 */
export type ProxyMode =
  | "pass"
  | "refuse"
  | "hold"
  | "cut before commit"
  | "cut after commit"
  | "cut after commit and refuse";

export interface PostgresProxy extends AsyncDisposable {
  readonly url: string;
  readonly mode: ProxyMode;
  set(mode: ProxyMode): void;
}

/** A simple query and its completion in PostgreSQL's protocol. */
const commitSent = Buffer.from("COMMIT\0");
const commitAnswered = Buffer.from("COMMIT\0");

/** Sits between a store and its server, and cuts the connection where a test wants it. */
export async function startPostgresProxy(target: string): Promise<PostgresProxy> {
  const upstream = new URL(target);
  const sockets = new Set<Socket>();
  let mode: ProxyMode = "pass";
  const set = (next: ProxyMode): void => {
    mode = next;
    for (const socket of sockets) {
      if (next === "refuse") socket.destroy();
      else if (next === "hold") socket.pause();
      else socket.resume();
    }
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
    if (mode === "hold") client.pause();
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
