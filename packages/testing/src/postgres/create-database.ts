import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** The administrator's URL of the run's PostgreSQL; in `*.pg.test.ts` files only. */
    postgresUrl: string;
  }
}

export interface FreshDatabase extends AsyncDisposable {
  readonly url: string;
}

/** A private database: `await using database = await createDatabase()`. */
export async function createDatabase(server = inject("postgresUrl")): Promise<FreshDatabase> {
  const name = `holdfast_${randomBytes(8).toString("hex")}`;
  await administer(server, `CREATE DATABASE ${name} TEMPLATE template0`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    // Connections that a failing test left open must not keep its database alive.
    [Symbol.asyncDispose]: () => administer(server, `DROP DATABASE ${name} WITH (FORCE)`),
  };
}

async function administer(server: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
