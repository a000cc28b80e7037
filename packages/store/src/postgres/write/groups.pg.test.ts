import {
  aForeignEvent,
  anEvent,
  anInput,
  aRunState,
  aUserMessage,
} from "@holdfast/testing/fixtures/factories";
import { openTestSession, seqsOf, textsOf } from "@holdfast/testing/fixtures/open-session";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { postgresHarness } from "@holdfast/testing/stores/database-harnesses";
import { openPostgresStore } from "../open.ts";

async function connect(url: string): Promise<Client & AsyncDisposable> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

async function openStores(count: 1 | 2) {
  const harness = await postgresHarness(createDatabase).open();
  const stores = [harness.store];
  if (count === 2) stores.push(await harness.open());
  onTestFinished(async () => {
    await stores[1]?.close();
    await harness.close();
  });
  return stores as [(typeof stores)[0], (typeof stores)[0]];
}

test("[P1] a commit is synced, whatever the database's own default is", async () => {
  await using database = await createDatabase();
  await using admin = await connect(database.url);
  await admin.query(
    `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$`,
  );
  const store = await openPostgresStore({ url: database.url });
  await admin.query(`
    CREATE TABLE seen (setting text);
    CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;
    CREATE TRIGGER look AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION look()`);
  await openTestSession(store);
  const { rows } = await admin.query("SELECT setting FROM seen");
  expect(rows).toEqual([{ setting: "on" }]);
  await store.close();
});

test("a write that the database rejects is refused, and its neighbours are committed", async () => {
  const [store] = await openStores(1);
  const [a, b] = [await openTestSession(store), await openTestSession(store)];
  const used = aUserMessage("the first of this id");
  await a.commit([used]);
  const { runId } = await a.startRun();
  const rejected = [
    a.send([aUserMessage("second event of a used id"), { ...used, type: "notice.added" }]),
    a.send([{ ...aForeignEvent(), type: "with.a.nul\0" }]),
    b.send([aRunState(runId, "claimed")]),
    b.send([{ ...aForeignEvent(), type: "same.id.twice", id: used.id }, used]),
  ];
  const accepted = [
    a.send([aUserMessage("before")]),
    b.send([aUserMessage("elsewhere")]),
    a.send([anEvent("session.changed", { pinned: true })]),
  ];
  const refused = await Promise.all(rejected);
  const committed = await Promise.all(accepted);
  expect(refused.map((result) => "code" in result && result.code)).toEqual(
    refused.map(() => "invalid_event"),
  );
  expect(committed.map((result) => result.status)).toEqual(committed.map(() => "committed"));
  expect(textsOf(await a.entries())).toEqual(["the first of this id", "Hello", "before"]);
  expect(textsOf(await b.entries())).toEqual(["elsewhere"]);
  const { head } = await a.row();
  expect(seqsOf(await a.events())).toEqual(Array.from({ length: head }, (_, index) => index + 1));
});

test("[P2] writes of one session in the same group see each other, in order", async () => {
  const [store] = await openStores(1);
  const chat = await openTestSession(store);
  const input = anInput({ text: "the same twice" });
  const results = await Promise.all([
    chat.commit([aUserMessage("2")]),
    chat.commit([input]),
    chat.commit([{ ...input, id: anInput().id }]),
    chat.commit([aUserMessage("4")]),
  ]);
  expect(results.map(({ first, repeated }) => [first, repeated ?? false])).toEqual([
    [2, false],
    [3, false],
    [3, true],
    [4, false],
  ]);
});

test("[P2] concurrent writes of two nodes to the same sessions stay dense", async () => {
  const [one, two] = await openStores(2);
  const chats = await Promise.all(Array.from({ length: 5 }, () => openTestSession(one)));
  const rounds = Array.from({ length: 20 }, (_, round) => `${round}`);
  await Promise.all(
    [one, two].flatMap((store, node) =>
      chats.map(async (chat) => {
        for (const round of rounds) {
          await chat.through(store).commit([aUserMessage(`${node} ${round}`)]);
        }
      }),
    ),
  );
  for (const chat of chats) {
    const entries = await chat.entries();
    expect(seqsOf(entries)).toEqual(entries.map((_, index) => index + 2));
    for (const node of ["0", "1"]) {
      const own = textsOf(entries).filter((text) => text.startsWith(`${node} `));
      expect(own).toEqual(rounds.map((round) => `${node} ${round}`));
    }
  }
});

test("a session that two nodes create at once is created once", async () => {
  const [one, two] = await openStores(2);
  for (let round = 0; round < 20; round += 1) {
    const chat = await openTestSession(one);
    const session = chat.session.replace(/.$/, chat.session.endsWith("a") ? "b" : "a");
    const create = (store: typeof one) =>
      store.commit({
        owner: chat.owner,
        session: session as typeof chat.session,
        events: [anEvent("session.created", {})],
      });
    const results = await Promise.all([create(one), create(two)]);
    expect(
      results.map((result) => ("code" in result ? result.code : result.status)).toSorted(),
    ).toEqual(["committed", "session_exists"]);
  }
});

test("a row that is locked for too long makes its writes busy and delays the others only once", async () => {
  await using database = await createDatabase();
  const store = await openPostgresStore({ url: database.url, lockTimeoutMs: 2_000 });
  const [locked, unlocked] = [await openTestSession(store), await openTestSession(store)];
  const holder = await connect(database.url);
  await holder.query("BEGIN");
  await holder.query("SELECT 1 FROM heads WHERE session_id = $1 FOR UPDATE", [locked.session]);
  const waiting = Array.from({ length: 50 }, () => locked.send([aUserMessage("waits")]));
  // Waits once for the group and once for the session: once for each of fifty would outlast the test.
  expect(await unlocked.send([aUserMessage("goes on")])).toMatchObject({ status: "committed" });
  for (const result of await Promise.all(waiting)) {
    expect(result).toMatchObject({ status: "failed", code: "store_busy" });
  }
  await holder.end();
  expect(textsOf(await locked.entries())).toEqual([]);
  await locked.commit([aUserMessage("now")]);
  await store.close();
});
