import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Hono } from "hono";

import { type HostEnv } from "../../src/server/http/routing.ts";
import { listen, type ListenOptions } from "../../src/server/http/server.ts";

/** The app behind a real server, for raw requests. */
export async function openServer(app: Hono<HostEnv>, options: Partial<ListenOptions> = {}) {
  const listener = await listen(app, { host: "127.0.0.1", port: 0, ...options });
  if (!listener.ok) throw new Error(listener.failure.message);
  const { port } = listener.value;
  const dialled: Socket[] = [];

  async function dial(): Promise<Socket> {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    dialled.push(socket);
    await once(socket, "connect");
    return socket;
  }

  return {
    port,
    dial,
    /** Sends bytes and reads until the other side closes or a complete response without a body has arrived. */
    async say(bytes: string | Buffer): Promise<string> {
      const socket = await dial();
      socket.end(bytes);
      return readAll(socket);
    },
    async close() {
      for (const socket of dialled) socket.destroy();
      await listener.value.close();
    },
  };
}

/** Everything until the connection closes, by whichever side. */
export function readAll(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.setEncoding("latin1").on("data", (piece: string) => (text += piece));
    socket.on("close", () => resolve(text));
  });
}

export function statusIn(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
}
