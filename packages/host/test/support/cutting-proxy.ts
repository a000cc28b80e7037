import { connect, createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

export interface CuttingProxy {
  readonly port: number;
  /** How many connections it has cut. */
  readonly cuts: () => number;
  readonly close: () => Promise<void>;
}

/**
 * Passes connections on, and cuts the first of them when the host has answered this many bytes: the client knows
 * nothing of an answer that was sent.
 */
export async function openCuttingProxy(
  target: number,
  cuts: number,
  afterBytes: number,
): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let cut = 0;
  const server = createServer((client) => {
    const host = connect(target, "127.0.0.1");
    const isCut = cut < cuts;
    let answered = 0;
    for (const socket of [client, host]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        host.destroy();
      });
    }
    client.pipe(host);
    host.on("data", (bytes) => {
      answered += bytes.length;
      if (!isCut) return void client.write(bytes);
      if (answered < afterBytes || client.destroyed) return;
      cut += 1;
      client.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    cuts: () => cut,
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
