import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface CountingRelay extends AsyncDisposable {
  /** The same database, through the relay. */
  readonly url: string;
  /** Simple queries and executions of prepared statements, so far. */
  statements(): number;
}

const lengthBytes = 4;
/** The type of a message, by its first byte: a simple query, or an execution. */
const counted = new Set(["Q".charCodeAt(0), "E".charCodeAt(0)]);

/** Passes every byte on, and counts the statements among what clients send. */
export async function countStatements(url: string): Promise<CountingRelay> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let statements = 0;
  const server = createServer((client) => {
    const database = connect(Number(port), hostname);
    client.on(
      "data",
      messageReader((type) => (statements += counted.has(type) ? 1 : 0)),
    );
    client.pipe(database);
    database.pipe(client);
    for (const [socket, other] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The relay has no port.");
  const relayed = new URL(url);
  relayed.hostname = "127.0.0.1";
  relayed.port = String(address.port);
  return {
    url: relayed.href,
    statements: () => statements,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** Messages of the PostgreSQL protocol: a type and a length. The first message of a connection has no type. */
function messageReader(found: (type: number) => void): (bytes: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0);
  let hasStarted = false;
  return (bytes) => {
    pending = Buffer.concat([pending, bytes]);
    for (;;) {
      const head = hasStarted ? 1 : 0;
      if (pending.length < head + lengthBytes) return;
      const length = head + pending.readInt32BE(head);
      if (pending.length < length) return;
      if (hasStarted) found(pending[0] ?? 0);
      hasStarted = true;
      pending = pending.subarray(length);
    }
  };
}
