import { createServer } from "node:http";
import { once } from "node:events";

export interface Received {
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: unknown;
}

/** An HTTP server that keeps every JSON document posted to it. There is nothing below `/missing`. */
export async function openReceiver() {
  const received: Received[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/missing") === true) {
      response.writeHead(404).end();
      return;
    }
    const pieces: Uint8Array[] = [];
    request.on("data", (piece: Uint8Array) => pieces.push(piece));
    request.on("end", () => {
      const body: unknown = JSON.parse(Buffer.concat(pieces).toString());
      received.push({ path: request.url ?? "", headers: Object.keys(request.headers), body });
      for (const look of waiting) look();
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("No port.");
  const at = (path: string): Received[] =>
    received.filter((document) => document.path.startsWith(path));
  return {
    address: `http://127.0.0.1:${address.port}`,
    at,
    /** The first document of this type posted to this path. */
    first: (path: string, type: string): Promise<Received> =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = at(path).find(({ body }) => (body as { type?: string }).type === type);
          if (found !== undefined) resolve(found);
        };
        waiting.add(look);
        look();
      }),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
