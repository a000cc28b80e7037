import { readdirSync, readFileSync } from "node:fs";

import { Client } from "pg";

import { until } from "./driver.ts";

const migrations = new URL("../../../packages/store/src/postgres/migrations/", import.meta.url);

/** The migrations of this version, and every row. Waits until the killed host is disconnected. */
export async function dumpPostgres(url: string): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await until("the killed host to be disconnected", async () => {
      const { rows } = await client.query<{ others: string }>(
        `SELECT count(*) AS others FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      );
      return rows[0]?.others === "0";
    });
    return `${[...readSchema(), ...(await readRows(client))].join("\n")}\n`;
  } finally {
    await client.end();
  }
}

function readSchema(): readonly string[] {
  const steps = readdirSync(migrations)
    .toSorted()
    .map((file) => readFileSync(new URL(file, migrations), "utf8").trim());
  return [
    "CREATE TABLE holdfast_migrations (",
    "  version bigint PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());",
    ...steps,
  ];
}

async function readRows(client: Client): Promise<readonly string[]> {
  const { rows: tables } = await client.query<{ name: string; columns: string[] }>(
    `SELECT table_name AS name, array_agg(column_name::text ORDER BY ordinal_position) AS columns
       FROM information_schema.columns
      WHERE table_schema = current_schema() AND is_generated = 'NEVER'
      GROUP BY table_name ORDER BY table_name`,
  );
  const statements: string[] = [];
  for (const { name, columns } of tables) {
    const values = columns.map((column) => `quote_nullable(${column})`).join(", ");
    const { rows } = await client.query<{ row: string }>(
      `SELECT concat_ws(', ', ${values}) AS row FROM ${name} ORDER BY 1`,
    );
    for (const { row } of rows)
      statements.push(`INSERT INTO ${name} (${columns.join(", ")}) VALUES (${row});`);
  }
  return statements;
}
