import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";

import {
  aFile,
  aHolder,
  anEvent,
  anInput,
  aRange,
  aRunId,
  aUserMessage,
  toSeq,
} from "@holdfast/testing/fixtures/factories";
import { openTestSession, textsOf } from "@holdfast/testing/fixtures/open-session";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { ids, laneKey } from "@holdfast/protocol";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";

import { openPostgresStore } from "@holdfast/store/postgres";

/** Two stores on one database, and a connection that can make their transactions wait. */
async function openTwo() {
  const database = await createDatabase();
  const [first, second] = [
    await openPostgresStore({ url: database.url }),
    await openPostgresStore({ url: database.url }),
  ];
  const admin = new Client({ connectionString: database.url });
  await admin.connect();
  onTestFinished(async () => {
    await admin.end();
    await first.close();
    await second.close();
    await database[Symbol.asyncDispose]();
  });
  /** Makes each insert into the table wait until the returned function is called. */
  async function holdInserts(table: string): Promise<() => Promise<void>> {
    await admin.query(`
      CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN NEW; END $$;
      CREATE TRIGGER hold AFTER INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION hold()`);
    await admin.query("SELECT pg_advisory_lock(4711)");
    return async () => void (await admin.query("SELECT pg_advisory_unlock(4711)"));
  }
  async function waiting(): Promise<number> {
    const { rowCount } = await admin.query(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    return rowCount ?? 0;
  }
  return { first, second, admin, holdInserts, waiting, url: database.url };
}

test("[P11] an update that two hosts accept into two sessions at once is stored in one", async () => {
  const { first, second, holdInserts, waiting } = await openTwo();
  const here = await openTestSession(first);
  const there = (await openTestSession(first, {}, here.owner)).through(second);
  const lane = laneKey.parse("telegram:1:7:0");
  const inbound = { key: "telegram:1:7:99", delivery: ids.make("delivery") };
  const take = () => anInput({ runId: aRunId(), lane, inbound });
  const release = await holdInserts("outbox");
  const taken = here.send([take()]);
  await expect.poll(waiting).toBe(1);
  const late = there.send([take()]);
  await expect.poll(waiting).toBe(2);
  await release();
  expect(await taken).toMatchObject({ status: "committed" });
  expect(await late).toMatchObject({ status: "refused", code: "inbound_taken" });
});

test("[P13] a branch and its origin that are purged at once leave no events behind", async () => {
  const { first, second, admin, holdInserts, waiting } = await openTwo();
  const origin = await openTestSession(first);
  for (const text of ["one", "two"]) await origin.commit([aUserMessage(text)]);
  const branch = await openTestSession(
    first,
    {
      origin: { sessionId: origin.session, seq: toSeq(3) },
      ranges: [aRange(1, 3, origin.session), aRange(4)],
    },
    origin.owner,
  );
  for (const chat of [origin, branch]) await chat.commit([anEvent("session.trashed", {})]);
  const release = await holdInserts("purges");
  const purges = [first.purge(branch.owner, branch.session)];
  await expect.poll(waiting).toBe(1);
  // The first purge has deleted its rows, but has not committed yet.
  purges.push(second.purge(origin.owner, origin.session));
  await expect.poll(waiting).toBe(2);
  await release();
  expect((await Promise.all(purges)).map(({ status }) => status)).toEqual(["purged", "purged"]);
  const { rows } = await admin.query("SELECT session_id FROM events");
  expect(rows).toEqual([]);
});

test("[P13] an event whose blob is collected before it is stored is refused", async () => {
  const { first, second, admin, holdInserts, waiting } = await openTwo();
  const chat = await openTestSession(first);
  const put = await first.putBlob(chat.owner, new TextEncoder().encode("old"), "text/plain");
  if (put.status !== "stored") throw new Error(put.message);
  await admin.query("UPDATE blobs SET created_at = 0");
  const release = await holdInserts("events");
  const committing = chat.send([anInput({ attachments: [aFile(put.id)] })]);
  await expect.poll(waiting).toBe(1);
  expect(await second.prune(100)).toEqual({ status: "pruned", rows: 1 });
  await release();
  expect(await committing).toMatchObject({ status: "refused", code: "blob_not_found" });
});

test("leases that are released together are locked in order, as a renewal locks them", async () => {
  const { first, holdInserts, waiting, url } = await openTwo();
  const chat = await openTestSession(first);
  const { session: other } = await openTestSession(first);
  const [low = other, high = other] = [chat.session, other].toSorted();
  const acquire = async (session: typeof other) => {
    const result = await first.leases.acquire({
      kind: "run",
      session,
      holder: aHolder(),
      ttlMs: 60_000,
    });
    if (result.status !== "acquired") throw new Error(JSON.stringify(result));
    return result.lease;
  };
  const leases = [await acquire(high), await acquire(low)];
  // What is written after this one is written together.
  const letGo = await holdInserts("events");
  const sent = chat.send([aUserMessage("waits")]);
  await expect.poll(waiting).toBe(1);
  const released = Promise.all(leases.map((lease) => first.leases.release(lease)));
  const renewal = new Client({ connectionString: url });
  await renewal.connect();
  onTestFinished(() => renewal.end());
  const lock = (session: string) =>
    renewal.query("SELECT 1 FROM leases WHERE session_id = $1 FOR UPDATE SKIP LOCKED", [session]);
  await renewal.query("BEGIN");
  expect((await lock(low)).rowCount).toBe(1);
  await letGo();
  await sent;
  await expect.poll(waiting).toBe(1);
  expect((await lock(high)).rowCount).toBe(1);
  await renewal.query("COMMIT");
  expect((await released).map(({ status }) => status)).toEqual(["released", "released"]);
});

/** Forwards to the server, and once turns a COMMIT into a ROLLBACK, as if the transaction had failed unseen. */
async function startRollbackProxy(target: string) {
  const upstream = new URL(target);
  const commit = Buffer.from("Q\0\0\0\u000bCOMMIT\0", "latin1");
  const rollback = Buffer.from("Q\0\0\0\u000dROLLBACK\0", "latin1");
  const state = { isArmed: false };
  const server = createServer((client) => {
    const backend = connect(Number(upstream.port), upstream.hostname);
    for (const [from, to] of [
      [client, backend],
      [backend, client],
    ] as const) {
      from.on("error", () => undefined);
      from.on("close", () => to.destroy());
    }
    client.on("data", (data) => {
      const at = state.isArmed ? data.indexOf(commit) : -1;
      if (at === -1) return void backend.write(data);
      state.isArmed = false;
      backend.write(
        Buffer.concat([data.subarray(0, at), rollback, data.subarray(at + commit.length)]),
      );
    });
    backend.on("data", (data) => void client.write(data));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  onTestFinished(() => void server.close());
  return { url: url.href, state };
}

test("[P1] a COMMIT that the server answers with ROLLBACK is not a commit, and is retried", async () => {
  const database = await createDatabase();
  const proxy = await startRollbackProxy(database.url);
  const store = await openPostgresStore({ url: proxy.url });
  const witness = await openPostgresStore({ url: database.url });
  onTestFinished(async () => {
    await store.close();
    await witness.close();
    await database[Symbol.asyncDispose]();
  });
  const chat = await openTestSession(store);
  proxy.state.isArmed = true;
  await chat.commit([aUserMessage("kept")]);
  expect(proxy.state.isArmed).toBe(false);
  expect(textsOf(await chat.through(witness).entries())).toEqual(["kept"]);
});
