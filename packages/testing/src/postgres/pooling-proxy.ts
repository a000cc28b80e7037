import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { Client } from "pg";

/** Server connections for each database, which all clients of the proxy share. */
const poolSize = 3;
/** What poolers let through; others are refused, as PgBouncer does. */
const knownParameters = new Set(["user", "database", "application_name", "client_encoding"]);

/**
 * A pooler like PgBouncer in transaction mode: a client has a server connection only for the length of a transaction,
 * each time another one than before if any is free, and the server connections keep what is set on them.
 */
export interface PoolingProxy extends AsyncDisposable {
  readonly url: string;
  /** How often a client got another server connection than before. */
  readonly switches: number;
  /** What clients have left behind on server connections. */
  sessionState(): Promise<readonly string[]>;
}

const messageType = {
  query: "Q",
  sync: "S",
  terminate: "X",
  readyForQuery: "Z",
} as const;
const protocolVersion = 196_608;
const sslRequest = 80_877_103;
const gssRequest = 80_877_104;

function frame(type: string, ...parts: readonly (string | Buffer)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => (typeof part === "string" ? Buffer.from(`${part}\0`) : part)),
  );
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** Splits a stream into messages. `typeBytes` is 0 for a client's first messages, which have no type. */
class MessageReader {
  #buffered: Buffer = Buffer.alloc(0);

  add(data: Buffer): void {
    this.#buffered = Buffer.concat([this.#buffered, data]);
  }

  next(typeBytes: 0 | 1): Buffer | undefined {
    if (this.#buffered.length < typeBytes + 4) return undefined;
    const length = typeBytes + this.#buffered.readInt32BE(typeBytes);
    if (this.#buffered.length < length) return undefined;
    const message = this.#buffered.subarray(0, length);
    this.#buffered = this.#buffered.subarray(length);
    return message;
  }
}

/** One connection to the server. The driver signs in; then the proxy reads its socket. */
class ServerConnection {
  readonly client: Client;
  readonly #socket: Socket;
  readonly #driverReads: (data: Buffer) => void;
  readonly #reader = new MessageReader();
  onMessage: (message: Buffer) => void = () => undefined;
  onClose: () => void = () => undefined;

  private constructor(client: Client) {
    this.client = client;
    const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
    this.#socket = stream;
    this.#driverReads = stream.listeners("data")[0] as (data: Buffer) => void;
    stream.off("data", this.#driverReads).on("data", this.#read);
    stream.once("close", () => this.onClose());
  }

  static async open(url: string): Promise<ServerConnection> {
    const client = new Client({ connectionString: url });
    client.on("error", () => undefined);
    await client.connect();
    return new ServerConnection(client);
  }

  readonly #read = (data: Buffer): void => {
    this.#reader.add(data);
    for (let message = this.#reader.next(1); message; message = this.#reader.next(1))
      this.onMessage(message);
  };

  send(message: Buffer): void {
    this.#socket.write(message);
  }

  /** While no client has it. */
  async query(text: string): Promise<readonly Record<string, unknown>[]> {
    this.#socket.off("data", this.#read).on("data", this.#driverReads);
    try {
      return (await this.client.query<Record<string, unknown>>(text)).rows;
    } finally {
      this.#socket.off("data", this.#driverReads).on("data", this.#read);
    }
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

class ServerPool {
  readonly #url: string;
  readonly #idle: ServerConnection[] = [];
  readonly #waiting: (() => void)[] = [];
  #opened = 0;

  constructor(url: string) {
    this.#url = url;
  }

  /** Of each connection that no client has now. */
  async query(text: string): Promise<readonly Record<string, unknown>[]> {
    const rows: Record<string, unknown>[] = [];
    for (const connection of this.#idle.splice(0)) {
      rows.push(...(await connection.query(text)));
      this.release(connection);
    }
    return rows;
  }

  /** Another one than `last` if it can, and otherwise the one that has rested for the longest time. */
  async acquire(last: ServerConnection | undefined): Promise<ServerConnection> {
    for (;;) {
      const other = this.#idle.findIndex((connection) => connection !== last);
      if (other >= 0) return this.#idle.splice(other, 1)[0]!;
      if (this.#opened < poolSize) return this.#open();
      const same = this.#idle.shift();
      if (same !== undefined) return same;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  release(connection: ServerConnection): void {
    this.#idle.push(connection);
    this.#waiting.shift()?.();
  }

  async #open(): Promise<ServerConnection> {
    this.#opened += 1;
    try {
      const connection = await ServerConnection.open(this.#url);
      connection.onClose = () => this.discard(connection);
      return connection;
    } catch (error) {
      this.#opened -= 1;
      throw error;
    }
  }

  discard(connection: ServerConnection): void {
    connection.onClose = () => undefined;
    connection.destroy();
    const place = this.#idle.indexOf(connection);
    if (place >= 0) this.#idle.splice(place, 1);
    this.#opened -= 1;
    this.#waiting.shift()?.();
  }

  destroy(): void {
    for (const connection of this.#idle) {
      connection.onClose = () => undefined;
      connection.destroy();
    }
  }
}

interface PooledClientDeps {
  readonly poolOf: (database: string) => ServerPool;
  readonly refuseParameters: boolean;
  readonly onSwitch: () => void;
}

/** A client from its first message to its last. */
class PooledClient {
  readonly #socket: Socket;
  readonly #deps: PooledClientDeps;
  readonly #reader = new MessageReader();
  readonly #unsent: Buffer[] = [];
  /** The answer that is not complete yet. */
  readonly #answers: Buffer[] = [];
  #pool: ServerPool | undefined;
  #server: ServerConnection | undefined;
  #last: ServerConnection | undefined;
  #isAcquiring = false;
  /** Messages that the server ends with ReadyForQuery, and hasn't yet. */
  #unanswered = 0;

  constructor(socket: Socket, deps: PooledClientDeps) {
    this.#socket = socket;
    this.#deps = deps;
  }

  serve(): void {
    this.#socket.on("error", () => undefined);
    this.#socket.on("data", (data) => this.#read(data));
    this.#socket.once("close", () => this.#leave());
  }

  #read(data: Buffer): void {
    this.#reader.add(data);
    while (this.#pool === undefined) {
      const first = this.#reader.next(0);
      if (first === undefined) return;
      this.#begin(first);
    }
    for (let message = this.#reader.next(1); message; message = this.#reader.next(1)) {
      if (message.toString("latin1", 0, 1) === messageType.terminate)
        return void this.#socket.end();
      this.#unsent.push(message);
    }
    void this.#forward();
  }

  #begin(message: Buffer): void {
    const version = message.readInt32BE(4);
    if (version === sslRequest || version === gssRequest) return void this.#socket.write("N");
    if (version !== protocolVersion) return void this.#socket.destroy();
    const words = message.toString("utf8", 8).split("\0");
    const parameters = new Map<string, string>();
    for (let at = 0; words[at]; at += 2) parameters.set(words[at]!, words[at + 1] ?? "");
    const unknown = [...parameters.keys()].find((name) => !knownParameters.has(name));
    if (unknown !== undefined && this.#deps.refuseParameters) {
      const text = `Munsupported startup parameter: ${unknown}`;
      this.#socket.end(frame("E", "SFATAL", "VFATAL", "C08P01", text, Buffer.from([0])));
      return;
    }
    this.#pool = this.#deps.poolOf(parameters.get("database") ?? "");
    this.#socket.write(
      Buffer.concat([
        frame("R", int32(0)),
        frame("K", Buffer.from([0, ...randomBytes(7)])),
        frame(messageType.readyForQuery, Buffer.from("I")),
      ]),
    );
  }

  async #forward(): Promise<void> {
    if (this.#unsent.length === 0 || this.#isAcquiring) return;
    if (this.#server === undefined) {
      this.#isAcquiring = true;
      try {
        await this.#acquire();
      } catch {
        this.#socket.destroy();
      } finally {
        this.#isAcquiring = false;
      }
    }
    const messages = this.#unsent.splice(0);
    for (const message of messages) {
      const type = message.toString("latin1", 0, 1);
      if (type === messageType.query || type === messageType.sync) this.#unanswered += 1;
    }
    this.#server?.send(Buffer.concat(messages));
  }

  async #acquire(): Promise<void> {
    const server = await this.#pool!.acquire(this.#last);
    if (this.#socket.destroyed) return this.#pool!.release(server);
    if (this.#last !== undefined && this.#last !== server) this.#deps.onSwitch();
    this.#server = this.#last = server;
    server.onMessage = (message) => this.#answer(server, message);
    server.onClose = () => {
      this.#server = undefined;
      this.#pool!.discard(server);
      this.#socket.end(Buffer.concat(this.#answers.splice(0)));
    };
  }

  #answer(server: ServerConnection, message: Buffer): void {
    this.#answers.push(message);
    if (message.toString("latin1", 0, 1) !== messageType.readyForQuery) return;
    this.#socket.write(Buffer.concat(this.#answers.splice(0)));
    this.#unanswered -= 1;
    if (message.toString("latin1", 5, 6) !== "I" || this.#unanswered > 0) return;
    this.#server = undefined;
    server.onMessage = () => undefined;
    server.onClose = () => this.#pool!.discard(server);
    this.#pool!.release(server);
  }

  /** In the middle of a transaction, the server rolls back what it has of it. */
  #leave(): void {
    this.#unsent.length = 0;
    const server = this.#server;
    this.#server = undefined;
    if (server !== undefined) this.#pool!.discard(server);
  }
}

const leftBehind = `
  SELECT 'setting ' || name AS state FROM pg_settings WHERE source = 'session'
  UNION ALL SELECT 'statement ' || name FROM pg_prepared_statements
  UNION ALL SELECT 'channel ' || pg_listening_channels()
  UNION ALL SELECT 'lock ' || objid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()
  UNION ALL SELECT 'table ' || relname FROM pg_class WHERE relpersistence = 't'`;

interface Options {
  /** Whether it refuses what poolers cannot keep, as PgBouncer does, or ignores it. */
  readonly refuseParameters?: boolean;
}

export async function startPoolingProxy(
  target: string,
  { refuseParameters = true }: Options = {},
): Promise<PoolingProxy> {
  const pools = new Map<string, ServerPool>();
  const sockets = new Set<Socket>();
  let switches = 0;
  const poolOf = (database: string): ServerPool => {
    const url = new URL(target);
    url.pathname = `/${database}`;
    const pool = pools.get(database) ?? new ServerPool(url.href);
    pools.set(database, pool);
    return pool;
  };
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    const deps = { poolOf, refuseParameters, onSwitch: () => (switches += 1) };
    new PooledClient(socket, deps).serve();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    get switches() {
      return switches;
    },
    async sessionState() {
      const states = new Set<string>();
      for (const pool of pools.values())
        for (const { state } of await pool.query(leftBehind)) states.add(String(state));
      return [...states];
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      for (const pool of pools.values()) pool.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
