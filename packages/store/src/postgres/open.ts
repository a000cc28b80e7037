import type { Client } from "pg";
import { OpenFailure } from "../shared/open-failure.ts";
import { connectForMigrations } from "./connection.ts";
import { type PostgresOptions, withDefaults } from "./settings.ts";
import { failureOf } from "./errors.ts";
import { migrate } from "./migrate.ts";
import { createStore, type PostgresStore } from "./store.ts";

export interface ServerFacts {
  readonly version: string;
  readonly encoding: string;
  /** Milliseconds of the server's clock. */
  readonly now: number;
}

/** What a server reports about itself. Changes nothing there. Rejects with the driver's error. */
export async function readServerFacts(options: PostgresOptions): Promise<ServerFacts> {
  const client = await connectForMigrations(withDefaults(options));
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

/** Opens the store in this database after creating or migrating its tables. Rejects with an `OpenFailure`. */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const settings = withDefaults(options);
  let client: Client | undefined;
  try {
    client = await connectForMigrations(settings);
    await refuseOtherEncodings(client);
    await migrate(client);
  } catch (error) {
    if (error instanceof OpenFailure) throw error;
    throw new OpenFailure("store_unavailable", failureOf(error).message);
  } finally {
    await client?.end();
  }
  return createStore(settings);
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
