import { Client, type ClientBase, type ClientConfig, Pool, types } from "pg";
import type { Settings } from "./settings.ts";

export type Row = Record<string, unknown>;

/** Anything that can run a statement: a pooled connection or the writer's. */
export interface Connection {
  query(config: {
    name?: string;
    text: string;
    values?: unknown[];
    query_timeout?: number;
  }): Promise<QueryResult>;
}

/** For statements that read whole tables. */
export const noQueryTimeout = { query_timeout: 24 * 60 * 60 * 1000 };

export interface QueryResult {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: Row[];
}

function configureClient(client: ClientBase): void {
  // Every stored number is below 2^53, so a bigint can be a JavaScript number.
  client.setTypeParser(types.builtins.INT8, Number);
  // A broken connection emits `error` even while idle. Ignore it here: the next use fails anyway.
  client.on("error", () => undefined);
}

/**
 * A pooler that shares server connections between transactions keeps nothing of a session: neither settings nor
 * prepared statements. Whatever a statement needs is then set in its transaction.
 */
function isPooled({ listenUrl }: Settings): boolean {
  return listenUrl !== undefined;
}

function limitsOf(settings: Settings) {
  return {
    statement_timeout: settings.statementTimeoutMs,
    lock_timeout: settings.lockTimeoutMs,
    idle_in_transaction_session_timeout: settings.statementTimeoutMs * 2,
  };
}

function directConfig(settings: Settings, role: string): ClientConfig {
  return {
    connectionString: settings.url,
    application_name: `holdfast ${role}`,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: settings.connectTimeoutMs,
    // A server that silently disappears would block us forever.
    query_timeout: settings.statementTimeoutMs + 5_000,
  };
}

function configOf(settings: Settings, role: string): ClientConfig {
  const config = directConfig(settings, role);
  return isPooled(settings) ? config : { ...config, ...limitsOf(settings) };
}

/**
 * P1: a commit is acknowledged once it is on disk, whatever the default of the server or role. `remote_apply`, which
 * also waits for a replica, is stronger and stays.
 */
const requireDurableCommits = (isLocal: boolean): string => `
  SELECT set_config('synchronous_commit', 'on', ${isLocal})
   WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')`;
// The fence must be checked against rows as they are once their lock is held, not as they were when the transaction
// began.
const useReadCommitted = "SET default_transaction_isolation = 'read committed'";

/**
 * The server notices within half a minute that a host has disappeared, and ends its sessions and their locks.
 * The other way around, Node probes an idle connection after `keepAliveInitialDelayMillis` and ten more seconds, and
 * `query_timeout` bounds a busy one: it offers no `tcp_user_timeout`.
 */
const noticeLostHost = `
  SELECT set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
         set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '25000', false)`;
const writerSetup = [
  requireDurableCommits(false),
  useReadCommitted,
  "SET jit = off",
  noticeLostHost,
] as const;

/** The connection for all writes. It sends statements without waiting for the previous result. */
export async function connectWriter(settings: Settings): Promise<Client> {
  const config = { ...configOf(settings, "writer"), pipeline: true };
  if (isPooled(settings)) return connect(config);
  const client = await connect({
    ...config,
    idle_in_transaction_session_timeout: settings.idleTransactionMs,
  });
  return runSetup(client, ...writerSetup);
}

/** The connection that leases are renewed on. It never waits for a frozen process. */
export async function connectForLeases(settings: Settings): Promise<Client> {
  const client = await connect({ ...configOf(settings, "leases"), pipeline: true });
  return isPooled(settings) ? client : runSetup(client, ...writerSetup);
}

/** Sends statements under names, or through a pooler without: it may run each on another server connection. */
export function asConnection(client: ClientBase, settings: Settings): Connection {
  if (!isPooled(settings)) return client;
  return { query: ({ name: _name, ...config }) => client.query(config) };
}

/** The statement that begins a transaction, with all that the connection would otherwise have been set up with. */
export function beginOf(settings: Settings, use: "write" | "change" | "read" | "snapshot"): string {
  const modes = {
    write: "",
    change: "",
    read: " READ ONLY",
    snapshot: " ISOLATION LEVEL REPEATABLE READ READ ONLY",
  };
  const begin = `BEGIN${modes[use]}`;
  const idle = `SET LOCAL idle_in_transaction_session_timeout = ${settings.idleTransactionMs}`;
  if (!isPooled(settings)) return use === "change" ? `${begin}; ${idle}` : begin;
  const limits = Object.entries(limitsOf(settings)).map(
    ([name, limitMs]) => `SET LOCAL ${name} = ${limitMs}`,
  );
  const isWrite = use === "write" || use === "change";
  return [
    isWrite ? `${begin} ISOLATION LEVEL READ COMMITTED` : begin,
    ...limits,
    ...(isWrite ? [idle] : []),
    ...(use === "write" ? ["SET LOCAL jit = off", requireDurableCommits(true)] : []),
  ].join("; ");
}

/** For a write of one statement: through a pooler it also needs a transaction, all of it sent at once. */
export function beginForSingle(settings: Settings): string | undefined {
  return isPooled(settings) ? beginOf(settings, "write") : undefined;
}

/** For the connection that must be the server's own: a pooler would lose what it listens to. */
export function listenerConfig(settings: Settings, role: string): ClientConfig {
  return { ...directConfig(settings, role), connectionString: settings.listenUrl ?? settings.url };
}

/** Signals are hints, so nothing waits for a disk here. */
export async function connectListener(settings: Settings): Promise<Client> {
  const client = await connect({ ...listenerConfig(settings, "signals"), ...limitsOf(settings) });
  await runSetup(client, "SET synchronous_commit = off");
  return runSetup(client, noticeLostHost);
}

/**
 * Migrations wait for each other and have no time limit. Only a process that freezes during one loses its transaction,
 * which would otherwise keep every other process from starting.
 */
export async function connectForMigrations(settings: Settings): Promise<Client> {
  const { query_timeout: _unlimited, ...config } = listenerConfig(settings, "migrations");
  const { idle_in_transaction_session_timeout } = limitsOf(settings);
  const client = await connect({ ...config, idle_in_transaction_session_timeout });
  return runSetup(client, noticeLostHost);
}

/** Closes a connection that can't be set up. */
export async function runSetup(client: Client, ...statements: readonly string[]): Promise<Client> {
  try {
    await Promise.all(statements.map((text) => client.query(text)));
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

async function connect(config: ClientConfig): Promise<Client> {
  const client = new Client(config);
  configureClient(client);
  try {
    await client.connect();
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  return client;
}

export function createReaderPool(settings: Settings): Pool {
  const pool = new Pool({
    ...configOf(settings, "reader"),
    max: settings.maxReaders,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: true,
    async onConnect(client) {
      configureClient(client);
      if (!isPooled(settings)) await client.query(noticeLostHost);
    },
  });
  pool.on("error", () => undefined);
  return pool;
}

/** A statement that each connection prepares once under this name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export function statement(name: string, text: string): Statement {
  return { name, text };
}

export type SqlValue = string | number | boolean | null | Uint8Array | readonly (string | number)[];

export function execute(
  connection: Connection,
  { name, text }: Statement,
  values: readonly SqlValue[],
): Promise<QueryResult> {
  return connection.query({ name, text, values: values.map(replaceNul) });
}

/** Waits for every result, even after a failure: only then is the connection free again. */
export async function awaitAll<T>(sent: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(sent);
  return results.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}

/** PostgreSQL rejects NUL in text. No stored text has one, so an id with a NUL matches nothing. */
function replaceNul(value: SqlValue): SqlValue {
  if (typeof value === "string") return value.replaceAll("\0", "\uFFFD");
  if (!Array.isArray(value)) return value;
  return value.map((item: string | number) =>
    typeof item === "string" ? item.replaceAll("\0", "\uFFFD") : item,
  );
}

/** Inserts the rows of a JSON array by column name. */
export function insertRows(table: string, columns: string): string {
  return `INSERT INTO ${table} (${columns})
    SELECT ${columns} FROM json_populate_recordset(null::${table}, $1)`;
}

/** Inserts rows or updates existing ones. */
export function upsertRows(table: string, keys: string, columns: string): string {
  const changes = columns.split(",").map((column) => `${column} = excluded.${column.trim()}`);
  return `${insertRows(table, `${keys}, ${columns}`)}
    ON CONFLICT (${keys}) DO UPDATE SET ${changes.join(", ")}`;
}
