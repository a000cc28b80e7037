import { postgresDatabase } from "@holdfast/testing/databases/postgres";
import { anEvent, aRange, aUserMessage, toSeq } from "@holdfast/testing/fixtures/factories";
import { openTestSession, type TestSession } from "@holdfast/testing/fixtures/open-session";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { Client } from "pg";
import { expect, onTestFinished, test, vi } from "vitest";

import { migrate, migrations } from "../migrate.ts";
import { openPostgresStore } from "../open.ts";
import type { PostgresStore } from "../store.ts";

const slow = { timeout: 40_000 };
/** A host that ends before it has indexed what it wrote. */
const neverIndexes = { indexAfterMs: 3_600_000 };

async function openDatabase() {
  const database = await createDatabase();
  const admin = new Client({ connectionString: database.url });
  await admin.connect();
  onTestFinished(async () => {
    await admin.end();
    await database[Symbol.asyncDispose]();
  });
  const open = async (options: { readonly indexAfterMs?: number } = {}): Promise<PostgresStore> => {
    const store = await openPostgresStore({ url: database.url, ...options });
    onTestFinished(() => store.close());
    return store;
  };
  const count = async (from: string): Promise<number> => {
    const { rows } = await admin.query(`SELECT count(*)::int AS n FROM ${from}`);
    return Number(rows[0]?.n);
  };
  return { url: database.url, admin, open, count };
}

async function seqsFound(chat: TestSession, text: string): Promise<number[]> {
  const result = await chat.store.search.search(chat.owner, { text, limit: 100 });
  if (result.status !== "ok") throw new Error(result.message);
  return result.hits.map(({ seq }) => seq);
}

test("a host indexes what another one wrote before it ended", async () => {
  const { open, count } = await openDatabase();
  const host = await open();
  const renamed = await openTestSession(host, { title: "zzz" });
  const written = await openTestSession(host, { title: "yyy" }, renamed.owner);
  const other = await openTestSession(host, { title: "xxx" });
  await host.search.settled();
  const ended = await open(neverIndexes);
  const created = await openTestSession(ended, { title: "An anemone" }, renamed.owner);
  await renamed.through(ended).commit([anEvent("session.changed", { title: "Two anemones" })]);
  await written.through(ended).commit([aUserMessage("three anemones")]);
  await ended.close();
  await other.commit([aUserMessage("unrelated")]);
  await expect.poll(() => count("search_queue"), slow).toBe(0);
  const found = await host.search.search(renamed.owner, { text: "anemone", limit: 10 });
  const hits = found.status === "ok" ? found.hits : [];
  expect(hits.map(({ session, role }) => `${session} ${role}`).toSorted()).toEqual(
    [`${created.session} title`, `${renamed.session} title`, `${written.session} user`].toSorted(),
  );
});

test("indexing reads only the sessions that were touched, among 100,000", async () => {
  const { admin, open, count } = await openDatabase();
  const store = await open(neverIndexes);
  const chat = await openTestSession(store, { title: "zzz" });
  const columns = async (table: string) => {
    const { rows } = await admin.query<{ name: string }>(
      `SELECT column_name AS name FROM information_schema.columns
        WHERE table_name = $1 AND is_generated = 'NEVER'`,
      [table],
    );
    return rows.map(({ name }) => name);
  };
  for (const [table, key] of [
    ["sessions", "id"],
    ["heads", "session_id"],
  ] as const) {
    const names = await columns(table);
    const changes = new Map([
      [key, "'ses_' || lpad(n::text, 26, '0')"],
      ["title", "NULL"],
    ]);
    const values = names.map((name) => changes.get(name) ?? name);
    await admin.query(
      `INSERT INTO ${table} (${names.join(", ")})
       SELECT ${values.join(", ")} FROM ${table}, generate_series(1, 100000) n`,
    );
  }
  await admin.query(
    "INSERT INTO search_state (session_id, indexed_seq) SELECT session_id, head FROM heads",
  );
  await admin.query("DELETE FROM search_queue");
  await admin.query("VACUUM ANALYZE");
  const rowsRead = async () => {
    const { rows } = await admin.query(
      `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS n FROM pg_stat_user_tables`,
    );
    return Number(rows[0]?.n);
  };
  await admin.query("SELECT pg_stat_force_next_flush()");
  const before = await rowsRead();
  await chat.commit([aUserMessage("one oyster")]);
  await store.search.settled();
  expect(await seqsFound(chat, "oyster")).toEqual([2]);
  await chat.commit([anEvent("session.trashed", {})]);
  await store.purge(chat.owner, chat.session);
  await store.search.settled();
  await store.close();
  // A connection reports its statistics when it ends.
  const connections = () =>
    count("pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()");
  await expect.poll(connections, slow).toBe(0);
  const read = (await rowsRead()) - before;
  expect(read).toBeGreaterThan(10);
  expect(read).toBeLessThan(1_000);
});

test("hosts share the queue, and what a killed host was indexing is left to others", async () => {
  const database = await postgresDatabase(createDatabase).create();
  onTestFinished(() => database.drop());
  if (database.address.kind !== "postgres") throw new Error("This test needs PostgreSQL.");
  const store = await openPostgresStore({ url: database.address.url });
  onTestFinished(() => store.close());
  const held = await openTestSession(store, { title: "zzz" });
  const free = await openTestSession(store, { title: "yyy" }, held.owner);
  await store.search.settled();
  const admin = new Client({ connectionString: database.address.url });
  await admin.connect();
  onTestFinished(() => admin.end());
  await admin.query("BEGIN");
  await admin.query("SELECT 1 FROM search_state WHERE session_id = $1 FOR UPDATE", [held.session]);
  const victim = await database.startPeer("process");
  onTestFinished(() => victim.end());
  const { owner, session } = held;
  await victim.store.commit({ owner, session, events: [aUserMessage("held limpet")] });
  const waiters = () =>
    database.query(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
  // It has taken the session off the queue.
  await expect.poll(waiters, slow).toHaveLength(1);
  await free.commit([aUserMessage("free limpet")]);
  await vi.waitFor(async () => expect(await seqsFound(free, "limpet")).toEqual([2]), slow);
  await victim.kill();
  await admin.query("ROLLBACK");
  await vi.waitFor(async () => {
    await free.commit([aUserMessage("unrelated")]);
    expect(await seqsFound(held, "held")).toEqual([2]);
  }, slow);
});

test("a purged session leaves the index, and what a branch read of it leaves with the branch", async () => {
  const { open, count } = await openDatabase();
  const store = await open();
  const origin = await openTestSession(store, { title: "A nautilus" });
  await origin.commit([aUserMessage("one nautilus")]);
  await origin.commit([aUserMessage("two nautiluses")]);
  const branch = await openTestSession(
    store,
    {
      origin: { sessionId: origin.session, seq: toSeq(2) },
      ranges: [aRange(1, 2, origin.session), aRange(3)],
    },
    origin.owner,
  );
  await store.search.settled();
  const purge = async (chat: TestSession): Promise<void> => {
    await chat.commit([anEvent("session.trashed", {})]);
    expect(await store.purge(chat.owner, chat.session)).toMatchObject({ status: "purged" });
  };
  const its = `WHERE session_id = '${origin.session}'`;
  expect(await count(`search_texts ${its}`)).toBe(3);
  await purge(origin);
  await expect.poll(() => count(`search_texts ${its}`), slow).toBe(1);
  expect(await seqsFound(branch, "nautilus")).toEqual([2]);
  await purge(branch);
  await expect.poll(() => count("search_texts"), slow).toBe(0);
  await expect.poll(() => count("search_state"), slow).toBe(0);
});

test("a database from before the queue indexes what was missing, and what an older host adds", async () => {
  const { url, admin, open, count } = await openDatabase();
  const store = await open(neverIndexes);
  const chat = await openTestSession(store, { title: "zzz" });
  await chat.commit([aUserMessage("an old clam")]);
  // As it was before the migration.
  await admin.query(`
    DROP TRIGGER search_entries ON events;
    DROP TRIGGER search_first_title ON sessions;
    DROP TRIGGER search_other_title ON sessions;
    DROP TRIGGER search_purge ON purges;
    DROP TRIGGER search_branch_gone ON branches;
    DROP FUNCTION queue_entries_for_search, queue_for_search;
    DROP TABLE search_queue;
    CREATE TABLE later AS SELECT * FROM holdfast_migrations WHERE version > 15;
    DELETE FROM holdfast_migrations WHERE version >= 15`);
  await chat.commit([aUserMessage("a clam of an older host")]);
  const client = new Client({ connectionString: url });
  await client.connect();
  await migrate(
    client,
    migrations.filter(({ number }) => number <= 15),
  );
  await client.query("INSERT INTO holdfast_migrations SELECT * FROM later; DROP TABLE later");
  await client.end();
  // The older host goes on, and never looks at the queue.
  await chat.commit([aUserMessage("a clam beside the migration")]);
  expect(await count("search_queue")).toBe(2);
  const newer = await open();
  await newer.search.settled();
  expect(await seqsFound(chat.through(newer), "clam")).toEqual([4, 3, 2]);
});

test("a session that cannot be indexed keeps no other from being found, and is tried again", async () => {
  const { open, admin } = await openDatabase();
  const ended = await open(neverIndexes);
  const bad = await openTestSession(ended, { title: "a limpet" });
  const good = await openTestSession(ended, { title: "good" }, bad.owner);
  await good.commit([aUserMessage("an anemone")]);
  await ended.close();
  // As a damaged part of the disk does.
  await admin.query(
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'damaged'; END $$;
     CREATE TRIGGER refuse BEFORE INSERT ON search_texts FOR EACH ROW
       WHEN (NEW.session_id = '${bad.session}') EXECUTE FUNCTION refuse()`,
  );
  const host = await open();
  await expect(host.search.settled()).rejects.toThrow("damaged");
  expect(await seqsFound(good.through(host), "anemone")).toHaveLength(1);
  await admin.query("DROP TRIGGER refuse ON search_texts");
  await host.search.settled();
  expect(await seqsFound(bad.through(host), "limpet")).toHaveLength(1);
});
