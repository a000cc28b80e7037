import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";

import { z } from "zod";

import { type EgressDeps } from "../../util/egress/egress.ts";
import { createProxy, type ReachedHost } from "./proxy.ts";
import { proxySocket, publishSocket, relayFile, relayProgram } from "./relay-program.ts";

/** What a confined process may reach, and where it finds the way out. Part of a background command's start request. */
export const networkGrant = z.object({
  /** Holds the sockets, and is visible inside. Removed with the process. */
  socketFolder: z.string(),
  /** Host names; `*.example.org` for all below one. */
  hosts: z.array(z.string()),
  /** Hosts beyond the public internet that the operator allows. */
  allow: z.array(z.string()),
  /** A port inside that can be opened on this machine's loopback. */
  publish: z.int().optional(),
});
export type NetworkGrant = z.infer<typeof networkGrant>;

export interface OpenNetwork {
  readonly reached: () => readonly ReachedHost[];
  close(): Promise<void>;
}

/** Opens the way out for one process. Rejects with a system error, for example if the published port is taken. */
export async function openNetwork(
  grant: NetworkGrant,
  deps: Omit<EgressDeps, "allow"> = {},
): Promise<OpenNetwork> {
  const { socketFolder, hosts, allow, publish } = grant;
  const proxy = createProxy({ hosts, egress: { ...deps, allow } });
  const closing: (() => void)[] = [];
  const open = async (server: Server, at: string | { port: number; host: string }) => {
    server.listen(at);
    closing.push(() => server.close());
    await once(server, "listening");
  };
  async function close(): Promise<void> {
    for (const end of closing) end();
    await rm(socketFolder, { recursive: true, force: true });
  }
  try {
    await writeFile(join(socketFolder, relayFile), relayProgram, { mode: 0o600 });
    if (hosts.length > 0) {
      closing.push(() => proxy.closeAllConnections());
      await open(proxy.server, join(socketFolder, proxySocket));
    }
    if (publish !== undefined) {
      const forward = createForward();
      closing.push(forward.destroyAll);
      await open(forward.inner, join(socketFolder, publishSocket));
      await open(forward.outer, { port: publish, host: "127.0.0.1" });
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { reached: proxy.reached, close };
}

const maxWaiting = 16;
const startByte = Buffer.from([1]);

/** Pairs clients on this machine with connections that the inside has opened in advance. */
function createForward() {
  const idle: Socket[] = [];
  const clients: Socket[] = [];
  const all = new Set<Socket>();

  function track(socket: Socket): void {
    all.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => {
      all.delete(socket);
      for (const list of [idle, clients]) {
        const index = list.indexOf(socket);
        if (index !== -1) list.splice(index, 1);
      }
    });
  }

  function pair(): void {
    while (idle.length > 0 && clients.length > 0) {
      const [inside, client] = [idle.shift(), clients.shift()];
      if (inside === undefined || client === undefined) return;
      inside.write(startByte);
      for (const [from, to] of [
        [inside, client],
        [client, inside],
      ] as const) {
        from.pipe(to);
        from.once("close", () => to.destroy());
      }
    }
  }

  const into = (list: Socket[]) => (socket: Socket) => {
    track(socket);
    if (list.length >= maxWaiting) return void socket.destroy();
    list.push(socket);
    pair();
  };
  return {
    inner: createServer({ allowHalfOpen: true }, into(idle)),
    outer: createServer({ allowHalfOpen: true }, into(clients)),
    destroyAll: () => {
      for (const socket of all) socket.destroy();
    },
  };
}
