import { randomBytes } from "node:crypto";
import { Client } from "pg";

import { startPostgres } from "@holdfast/testing/postgres/start-postgres";
import { dropScratch, makeScratch } from "../harness/scratch.ts";
import { openBarePostgres, openBarePostgresReads, postgresWalBytes } from "./bare-postgres.ts";
import { type Backend, openStore, type BenchDatabase } from "./bench-database.ts";

export async function postgresBackend(): Promise<Backend> {
  const given = process.env["HOLDFAST_TEST_POSTGRES"];
  const server = given ? { url: given, stop: async () => {} } : await startPostgres();
  return {
    name: "postgres",
    createDatabase: () => createPlace(server.url),
    async prepareDatabase(_key, fill) {
      const database = await createPlace(server.url);
      const store = await database.open();
      const known = await fill(store);
      await store.close();
      await administer(database.address.url, "VACUUM ANALYZE");
      return { database, known };
    },
    [Symbol.asyncDispose]: server.stop,
  };
}

async function createPlace(
  server: string,
): Promise<
  BenchDatabase & { readonly address: { readonly kind: "postgres"; readonly url: string } }
> {
  const name = `holdfast_bench_${randomBytes(6).toString("hex")}`;
  await administer(server, `CREATE DATABASE ${name} TEMPLATE template0`);
  const there = new URL(server);
  there.pathname = `/${name}`;
  const url = there.href;
  const address = { kind: "postgres", url } as const;
  const folder = makeScratch("postgres");
  const meter = new Client({ connectionString: url });
  await meter.connect();
  return {
    address,
    folder,
    open: () => openStore(address),
    openBare: () => openBarePostgres(url),
    openBareReads: () => openBarePostgresReads(url),
    walBytes: () => postgresWalBytes(meter),
    async [Symbol.asyncDispose]() {
      await meter.end();
      await administer(server, `DROP DATABASE ${name} WITH (FORCE)`);
      dropScratch(folder);
    },
  };
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
