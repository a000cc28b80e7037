import { connectForMigrations } from "./connection.ts";
import { type PostgresOptions, withDefaults } from "./settings.ts";

export interface ServerFacts {
  readonly version: string;
  readonly encoding: string;
  /** Milliseconds by the server's clock. */
  readonly now: number;
}

/** What a server says of itself. Nothing is made or changed there. Rejects with the driver's error. */
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
