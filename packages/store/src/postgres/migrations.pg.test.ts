import { aHolder, aUserMessage } from "@holdfast/testing/fixtures/factories";
import { TestSession, textsOf } from "@holdfast/testing/fixtures/open-session";
import { ownerId, sessionId } from "@holdfast/protocol";
import { readFile } from "node:fs/promises";
import { Client } from "pg";
import { expect, test } from "vitest";

import { createDatabase, type FreshDatabase } from "@holdfast/testing/postgres/create-database";
import { readMigrations } from "../schema/migrations.ts";
import { openPostgresStore, migrate } from "./open.ts";

const migrations = readMigrations(new URL("migrations/", import.meta.url));

/** Must end before its database is dropped, so declare it after that. */
async function connect({ url }: FreshDatabase): Promise<Client & AsyncDisposable> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

test("processes that start at the same moment migrate once, and all of them work", async () => {
  await using database = await createDatabase();
  const stores = await Promise.all(
    Array.from({ length: 6 }, () => openPostgresStore({ url: database.url })),
  );
  await using client = await connect(database);
  const { rows } = await client.query("SELECT version, name FROM holdfast_migrations ORDER BY 1");
  expect(rows).toEqual(migrations.map(({ number, name }) => ({ version: String(number), name })));
  for (const store of stores) expect(await store.audit.integrity()).toEqual([]);
  await Promise.all(stores.map((store) => store.close()));
});

test("a database of a newer Holdfast is refused and left unchanged", async () => {
  await using database = await createDatabase();
  await (await openPostgresStore({ url: database.url })).close();
  await using client = await connect(database);
  await client.query(
    "INSERT INTO holdfast_migrations (version, name) VALUES (9999, 'from tomorrow')",
  );
  const opening = openPostgresStore({ url: database.url });
  await expect(opening).rejects.toMatchObject({ name: "OpenFailure", code: "schema_too_new" });
  await expect(opening).rejects.toThrow("9999");
  const { rowCount } = await client.query("SELECT 1 FROM holdfast_migrations");
  expect(rowCount).toBe(migrations.length + 1);
});

test("a database in another encoding and a missing one are refused with a reason", async () => {
  await using database = await createDatabase();
  await using client = await connect(database);
  await client.query("CREATE DATABASE latin1_of_holdfast ENCODING 'LATIN1' TEMPLATE template0");
  const url = new URL(database.url);
  url.pathname = "/latin1_of_holdfast";
  await expect(openPostgresStore({ url: url.href })).rejects.toMatchObject({ code: "not_a_store" });
  await client.query("DROP DATABASE latin1_of_holdfast");
  await expect(openPostgresStore({ url: url.href })).rejects.toMatchObject({
    name: "OpenFailure",
    code: "store_unavailable",
  });
});

test("a failed migration leaves the schema unchanged", async () => {
  await using database = await createDatabase();
  await using client = await connect(database);
  await migrate(client, 1);
  await client.query("CREATE TABLE leases (in_the_way int)");
  await expect(openPostgresStore({ url: database.url })).rejects.toMatchObject({
    name: "OpenFailure",
  });
  const { rows } = await client.query("SELECT to_regclass('fences') AS fences");
  expect(rows).toEqual([{ fences: null }]);
  await client.query("DROP TABLE leases");
  await (await openPostgresStore({ url: database.url })).close();
});

test("[S0.15] a database from before the leases, with data, gains them and loses nothing", async () => {
  await using database = await createDatabase();
  await using client = await connect(database);
  await migrate(client, 1);
  await client.query(
    await readFile(new URL("../../fixtures/postgres-rows-0001.sql", import.meta.url), "utf8"),
  );
  const store = await openPostgresStore({ url: database.url });
  const owner = ownerId.parse("someone");
  const { sessions } = await store.reads.sessions(owner, { limit: 10 });
  expect(sessions.map(({ title, messageCount, tags }) => ({ title, messageCount, tags }))).toEqual([
    { title: "On tides", messageCount: 2, tags: ["sea"] },
  ]);
  const chat = new TestSession(store, { owner, session: sessionId.parse(sessions[0]?.id) });
  expect(textsOf(await chat.entries())).toEqual(["When is high tide?", "At six."]);
  const { fence } = await chat.lease("compaction", aHolder());
  expect(fence).toBe(1);
  await chat.commit([aUserMessage("Thanks")], { under: { lease: "compaction", fence } });
  expect((await chat.row()).head).toBe(5);
  await store.close();
});
