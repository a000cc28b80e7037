import { aHolder, aUserMessage } from "@holdfast/testing/fixtures/factories";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { openTestSession, TestSession, textsOf } from "@holdfast/testing/fixtures/open-session";
import { ownerId, sessionId } from "@holdfast/protocol";
import { readFile } from "node:fs/promises";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";

import { createDatabase, type FreshDatabase } from "@holdfast/testing/postgres/create-database";
import type { Migration } from "../schema/migrations.ts";
import { migrate, migrations } from "./migrate.ts";
import { openPostgresStore } from "./open.ts";

const first = migrations.slice(0, 1);
const newest = migrations.length;

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

/** A migration of the next version that adds a column to each table. */
async function addsColumns(client: Client, declaration = ""): Promise<Migration> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class
      WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`,
  );
  const sql = rows.map(({ name }) => `ALTER TABLE ${name} ADD COLUMN of_tomorrow text;`);
  return { number: newest + 1, name: "tomorrow", sql: [declaration, ...sql].join("\n") };
}

const worksBesideThisOne = `-- Works beside hosts of schema ${String(newest).padStart(4, "0")} and newer.`;

/** Keeps the sessions locked as any reader does, until it is ended. */
async function readSlowly(database: FreshDatabase) {
  const reader = await connect(database);
  await reader.query("BEGIN");
  await reader.query("SELECT count(*) FROM sessions");
  return reader;
}

test("hosts go on under a newer schema that adds columns, and start again beside it", async () => {
  await using database = await createDatabase();
  await using client = await connect(database);
  const running = await openPostgresStore({ url: database.url });
  onTestFinished(() => running.close());
  const chat = await openTestSession(running, { title: "On tides" });
  await chat.commit([aUserMessage("When is high tide?")]);
  const columns = await addsColumns(client, worksBesideThisOne);
  await migrate(client, [...migrations, columns]);

  await chat.commit([aUserMessage("And low tide?")]);
  const restarted = await openPostgresStore({ url: database.url });
  onTestFinished(() => restarted.close());
  await chat.through(restarted).commit([aUserMessage("Thanks.")]);
  const texts = ["When is high tide?", "And low tide?", "Thanks."];
  expect(textsOf(await chat.entries())).toEqual(texts);
  expect(textsOf(await chat.through(restarted).entries())).toEqual(texts);
  expect(await fsckFindings(restarted)).toEqual([]);
});

test("a host that a newer schema does not work beside is refused", async () => {
  await using database = await createDatabase();
  await using client = await connect(database);
  await migrate(client, [...migrations, await addsColumns(client)]);
  const opening = openPostgresStore({ url: database.url });
  await expect(opening).rejects.toMatchObject({ code: "schema_too_new" });
  await expect(opening).rejects.toThrow(`only a Holdfast that knows schema ${newest + 1}`);
});

test("hosts prepare a statement again whose columns a migration has changed", async () => {
  await using database = await createDatabase();
  await using client = await connect(database);
  const store = await openPostgresStore({ url: database.url, maxReaders: 1 });
  onTestFinished(() => store.close());
  const chat = await openTestSession(store, { title: "On tides" });
  const { fence } = await chat.lease("run", aHolder());
  const lease = { kind: "run", session: chat.session, fence } as const;
  const useAll = async (seen: number) => [
    await store.register.put({ owner: chat.owner, key: "tide", value: "high", expect: seen }),
    await store.register.read(chat.owner, "tide"),
    await store.leases.renew([lease], 60_000),
  ];
  const used = (revision: number) => {
    const row = { owner: chat.owner, key: "tide", value: "high", revision };
    return [{ status: "put", row }, row, { status: "renewed", lost: [] }];
  };
  expect(await useAll(0)).toMatchObject(used(1));
  await client.query(
    `ALTER TABLE register ALTER COLUMN value TYPE varchar;
     ALTER TABLE leases ALTER COLUMN kind TYPE varchar COLLATE "C"`,
  );
  expect(await useAll(1)).toMatchObject(used(2));
});

test("a migration behind a long reader lets other hosts go on, and is applied once it can be", async () => {
  await using database = await createDatabase();
  await using client = await connect(database);
  const store = await openPostgresStore({ url: database.url });
  onTestFinished(() => store.close());
  const chat = await openTestSession(store, { title: "On tides" });
  const columns = await addsColumns(client);
  await using reader = await readSlowly(database);
  const migrating = migrate(client, [...migrations, columns], {
    lockTimeoutMs: 200,
    giveUpMs: 600_000,
  });
  const waitsForLock = async () => {
    const { rows } = await reader.query(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    return rows.length > 0;
  };
  await expect.poll(waitsForLock).toBe(true);
  await chat.commit([aUserMessage("When is high tide?")]);
  expect(textsOf(await chat.entries())).toEqual(["When is high tide?"]);
  await reader.query("COMMIT");
  await migrating;
  const { rows } = await client.query(
    "SELECT max(version)::int AS newest FROM holdfast_migrations",
  );
  expect(rows).toEqual([{ newest: newest + 1 }]);
});

test("a migration that never gets its tables says what uses them, and changes nothing", async () => {
  await using database = await createDatabase();
  await using client = await connect(database);
  await (await openPostgresStore({ url: database.url })).close();
  await using reader = await readSlowly(database);
  const { rows } = await reader.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const columns = await addsColumns(client);
  const limits = { lockTimeoutMs: 20, giveUpMs: 0 };
  const migrating = migrate(client, [...migrations, columns], limits);
  await expect(migrating).rejects.toMatchObject({ name: "OpenFailure", code: "schema_locked" });
  await expect(migrating).rejects.toThrow(`pid ${rows[0]?.pid}`);
  await (await openPostgresStore({ url: database.url })).close();
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
  await migrate(client, first);
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
  await migrate(client, first);
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
