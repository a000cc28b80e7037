import type { Store } from "@holdfast/engine";
import type { Peer } from "@holdfast/testing/contracts/peer";
import { postgresDatabase } from "@holdfast/testing/databases/postgres";
import type { SqlDatabase } from "@holdfast/testing/databases/sql-database";
import { aCommit, aHolder, aNotice, aUserMessage } from "@holdfast/testing/fixtures/factories";
import { assertPresent, openTestSession, textsOf } from "@holdfast/testing/fixtures/open-session";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { Client } from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

import { openPostgresStore } from "../../src/postgres/open.ts";

let database: SqlDatabase;
let url: string;
let store: Store;
let sleeper: Peer;
beforeAll(async () => {
  database = await postgresDatabase(createDatabase).create();
  const { address } = database;
  if (address.kind !== "postgres") throw new Error("This test needs PostgreSQL.");
  url = address.url;
  store = await openPostgresStore({ url });
  sleeper = await database.startPeer("process");
});
afterAll(async () => {
  await sleeper.end();
  await store.close();
  await database.drop();
});

async function lockWaiters(): Promise<number> {
  const rows = await database.query(
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rows.length;
}

/** Freezes the sleeper in a transaction that has locked the session of one of its runs. */
async function freezeInTransaction(ttlMs: number) {
  const chat = await openTestSession(store);
  const { session } = chat;
  const holder = await sleeper.holder("runner");
  const request = { kind: "run", session, holder, ttlMs } as const;
  const acquired = await sleeper.store.leases.acquire(request);
  if (acquired.status !== "acquired") throw new Error(acquired.status);
  const { fence } = acquired.lease;
  const held = await database.holdWrites(session);
  const late = sleeper.store.commit(
    aCommit(chat, [aNotice("late")], { under: { lease: "run", fence } }),
  );
  await held.reached();
  sleeper.signal("SIGSTOP");
  onTestFinished(() => sleeper.signal("SIGCONT"));
  // From now on the lock belongs to the sleeper, which cannot respond.
  await held.release();
  return { chat, late };
}

test("while a process is frozen in a transaction others write to its session, and then it goes on", async () => {
  const { chat, late } = await freezeInTransaction(600_000);
  const elsewhere = await chat.commit([aUserMessage("meanwhile")]);
  sleeper.signal("SIGCONT");
  expect(await late).toMatchObject({ status: "committed", first: elsewhere.last + 1 });
  expect(textsOf(await chat.entries())).toEqual(["meanwhile", "late"]);
});

test("[P3] a process that was frozen in a transaction is refused if its run was taken over", async () => {
  const { chat, late } = await freezeInTransaction(1);
  const { fence } = await chat.lease();
  await chat.commit([aNotice("taken over")], { under: { lease: "run", fence } });
  sleeper.signal("SIGCONT");
  expect(await late).toMatchObject({ status: "refused", code: "fenced" });
  expect(textsOf(await chat.entries())).toEqual(["taken over"]);
});

/** Waits for locks for as long as a test lasts. */
async function openPatient(): Promise<Store> {
  const patient = await openPostgresStore({ url, lockTimeoutMs: 60_000 });
  onTestFinished(() => patient.close());
  return patient;
}

test("a row that stays locked does not stop lease renewals", async () => {
  const patient = await openPatient();
  const [stuck, other] = [await openTestSession(patient), await openTestSession(patient)];
  const leases = [await stuck.lease(), await other.lease()];
  const held = await database.holdWrites(stuck.session);
  const written = stuck.send([aNotice()]);
  await held.reached();
  expect(await patient.leases.renew(leases, 30_000)).toEqual({ status: "renewed", lost: [] });
  await held.release();
  expect(await written).toMatchObject({ status: "committed" });
});

test("a session that stays locked is acquired later, without holding up writes to others", async () => {
  const patient = await openPatient();
  const [stuck, other] = [await openTestSession(patient), await openTestSession(patient)];
  const held = await database.holdWrites(stuck.session);
  const acquiring = stuck.lease();
  await other.commit([aNotice("on")]);
  await held.release();
  expect((await acquiring).session).toBe(stuck.session);
});

test("[P3] a lease renewed after a rival saw it expired stays with its holder", async () => {
  const chat = await openTestSession(store);
  const lease = await chat.lease("run", aHolder(), 1);
  const { session } = chat;
  await expect.poll(() => store.leases.read("run", session)).toBeNull();
  const client = new Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("BEGIN");
  await client.query(`SELECT 1 FROM leases WHERE session_id = '${session}' FOR UPDATE`);
  const rival = { kind: "run", session, holder: aHolder(), ttlMs: 30_000 } as const;
  const taking = store.leases.acquire(rival);
  await expect.poll(lockWaiters).toBe(1);
  // As a renewal does.
  await client.query(
    `UPDATE leases SET expires_at = expires_at + 600000 WHERE session_id = '${session}'`,
  );
  await client.query("COMMIT");
  expect(await taking).toMatchObject({ status: "held", by: { fence: lease.fence } });
  expect(assertPresent(await store.leases.read("run", session)).fence).toBe(lease.fence);
});
