import type { Client } from "pg";
import type { ConnectedHost, SchemaState } from "../schema/upgrade.ts";
import { OpenFailure } from "../shared/open-failure.ts";
import { connectForMigrations, listenerConfig } from "./connection.ts";
import { isRefusedByPooler, leadsToPooler, pooledFailure } from "./pooler.ts";
import { type PostgresOptions, type Settings, withDefaults } from "./settings.ts";
import { failureOf } from "./errors.ts";
import { migrate, readSchemaState } from "./migrate.ts";
import { createStore, type PostgresStore } from "./store.ts";

export interface ServerFacts {
  readonly version: string;
  readonly encoding: string;
  /** Milliseconds of the server's clock. */
  readonly now: number;
}

/** What a server reports about itself. Changes nothing there. Rejects with the driver's error. */
export async function readServerFacts(options: PostgresOptions): Promise<ServerFacts> {
  const settings = withDefaults(options);
  if (await leadsToPooler(listenerConfig(settings, "doctor"))) throw pooled(settings);
  const client = await connectForMigrations(settings);
  try {
    const { rows } = await client.query<{ version: string; encoding: string; now: string }>(
      `SELECT current_setting('server_version') AS version,
              current_setting('server_encoding') AS encoding,
              floor(extract(epoch FROM clock_timestamp()) * 1000)::text AS now`,
    );
    const [row] = rows;
    if (row === undefined) throw new Error("The server does not say what it is.");
    return { ...row, now: Number(row.now) };
  } finally {
    await client.end();
  }
}

export interface UpgradeFacts {
  readonly schema: SchemaState;
  readonly hosts: readonly ConnectedHost[];
  /** The longest transaction of anybody else: a migration waits for the tables that it uses. */
  readonly longest: { readonly pid: number; readonly seconds: number } | null;
}

/** What to know before a newer version opens this store. Changes nothing there. Rejects with the driver's error. */
export async function readUpgradeFacts(options: PostgresOptions): Promise<UpgradeFacts> {
  const client = await connectForMigrations(withDefaults(options));
  try {
    const { rows: hosts } = await client.query<{ address: string | null; connections: number }>(
      // Each host has one connection that listens.
      `SELECT host(client_addr) AS address, count(*)::int AS connections FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'holdfast signals'
        GROUP BY client_addr ORDER BY client_addr`,
    );
    const { rows: transactions } = await client.query<{ pid: number; seconds: number }>(
      `SELECT pid, floor(extract(epoch FROM clock_timestamp() - xact_start))::int AS seconds
         FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
        ORDER BY xact_start LIMIT 1`,
    );
    return { schema: await readSchemaState(client), hosts, longest: transactions[0] ?? null };
  } finally {
    await client.end();
  }
}

/** Opens the store in this database after creating or migrating its tables. Rejects with an `OpenFailure`. */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const settings = withDefaults(options);
  let client: Client | undefined;
  try {
    client = await connectForMigrations(settings);
    if (await leadsToPooler(listenerConfig(settings, "start"))) throw pooled(settings);
    await refuseOtherEncodings(client);
    await migrate(client);
  } catch (error) {
    if (error instanceof OpenFailure) throw error;
    if (isRefusedByPooler(error)) throw pooled(settings);
    throw new OpenFailure("store_unavailable", failureOf(error).message);
  } finally {
    await client?.end();
  }
  return createStore(settings);
}

function pooled({ listenUrl }: Settings): OpenFailure {
  return pooledFailure(listenUrl === undefined ? "url" : "listenUrl");
}

async function refuseOtherEncodings(client: Client): Promise<void> {
  const { rows } = await client.query<{ encoding: string }>(
    "SELECT current_setting('server_encoding') AS encoding",
  );
  const encoding = rows[0]?.encoding;
  if (encoding === "UTF8") return;
  throw new OpenFailure(
    "not_a_store",
    `The database is encoded in ${encoding}. Create one with ENCODING 'UTF8'.`,
  );
}
