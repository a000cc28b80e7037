import type { Client } from "pg";
import { type Migration, readMigrations } from "../schema/migrations.ts";
import { OpenFailure } from "../shared/open-failure.ts";
import { connectForMigrations } from "./connection.ts";
import { type PostgresOptions, withDefaults } from "./settings.ts";
import { failureOf } from "./errors.ts";
import { createStore, type PostgresStore } from "./store.ts";

const migrationsFolder = new URL("migrations/", import.meta.url);
/** The key of our advisory lock: "holdfast" in ASCII. */
const lockKey = "7525352680829580148";

/**
 * Migrates the schema up to `upTo`, one transaction per step. Processes that start together queue at the lock, and
 * each checks the version again once it holds it, so every step runs once.
 */
export async function migrate(client: Client, upTo = Infinity): Promise<void> {
  const migrations = readMigrations(migrationsFolder).filter(({ number }) => number <= upTo);
  let applied: "one" | "none";
  do {
    await client.query("BEGIN");
    try {
      applied = await applyNextMigration(client, migrations);
      await client.query("COMMIT");
    } catch (error) {
      await client.query("ROLLBACK").catch(() => undefined);
      throw error;
    }
  } while (applied === "one");
}

async function applyNextMigration(
  client: Client,
  migrations: readonly Migration[],
): Promise<"one" | "none"> {
  await client.query("SELECT pg_advisory_xact_lock($1)", [lockKey]);
  await client.query(`
    CREATE TABLE IF NOT EXISTS holdfast_migrations (
      version    bigint PRIMARY KEY,
      name       text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`);
  const { rows } = await client.query<{ newest: number }>(
    "SELECT coalesce(max(version), 0)::bigint AS newest FROM holdfast_migrations",
  );
  const newest = rows[0]?.newest ?? 0;
  refuseNewer(newest, migrations);
  const next = migrations.find(({ number }) => number > newest);
  if (next === undefined) return "none";
  await client.query(next.sql);
  await client.query("INSERT INTO holdfast_migrations (version, name) VALUES ($1, $2)", [
    next.number,
    next.name,
  ]);
  return "one";
}

function refuseNewer(newest: number, migrations: readonly Migration[]): void {
  const newestKnown = migrations.at(-1)?.number ?? 0;
  if (newest <= newestKnown) return;
  throw new OpenFailure(
    "schema_too_new",
    `The database has schema ${newest}, and this Holdfast knows schemas up to ${newestKnown}. ` +
      "A newer Holdfast has used it: start that one, or restore a backup from before.",
  );
}

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
