import type { Client } from "pg";

import { OpenFailure } from "../shared/open-failure.ts";
import { connectForMigrations } from "./connection.ts";
import { failureOf } from "./errors.ts";
import { migrate } from "./migrate.ts";
import { type PostgresOptions, withDefaults } from "./settings.ts";
import { createStore, type PostgresStore } from "./store.ts";

/** Opens the store in this database, and makes or updates its tables first. Rejects with an `OpenFailure`. */
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
