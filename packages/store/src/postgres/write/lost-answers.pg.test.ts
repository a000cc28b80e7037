import type { Failed, Store } from "@holdfast/engine";
import {
  aDelta,
  aHolder,
  anEvent,
  aSession,
  aUserMessage,
} from "@holdfast/testing/fixtures/factories";
import {
  assertCommitted,
  openTestSession,
  seqsOf,
  textsOf,
} from "@holdfast/testing/fixtures/open-session";
import { expect, onTestFinished, test } from "vitest";

import { type PostgresProxy, startPostgresProxy } from "@holdfast/testing/postgres/postgres-proxy";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { openPostgresStore } from "../open.ts";
import { type PostgresOptions } from "../settings.ts";

/** A store whose connections can be cut, and another one whose connections stay intact. */
async function openBehindProxy(options: Omit<PostgresOptions, "url"> = {}) {
  const database = await createDatabase();
  const proxy: PostgresProxy = await startPostgresProxy(database.url);
  const store: Store = await openPostgresStore({ ...options, url: proxy.url });
  const witness: Store = await openPostgresStore({ url: database.url });
  onTestFinished(async () => {
    await store.close();
    await witness.close();
    await proxy[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });
  return { proxy, store, witness };
}

const cuts = ["cut before commit", "cut after commit"] as const;

test.each(cuts)(
  "[P1] a connection that is %s still gets the first answer, and the commit exists once",
  async (cut) => {
    const { proxy, store, witness } = await openBehindProxy();
    const chat = await openTestSession(store);
    proxy.set(cut);
    const result = await chat.commit([aUserMessage("once"), aUserMessage("only")]);
    expect(proxy.mode).toBe("pass");
    expect(result).toMatchObject({ first: 2, last: 3 });
    expect(result).not.toHaveProperty("repeated");
    expect(textsOf(await chat.through(witness).entries())).toEqual(["once", "only"]);
    expect(seqsOf(await chat.through(witness).events())).toEqual([1, 2, 3]);
  },
);

test.each(cuts)("a session created while the connection is %s exists once", async (cut) => {
  const { proxy, store, witness } = await openBehindProxy();
  await openTestSession(store);
  proxy.set(cut);
  const commit = aSession({ title: "here" });
  expect(assertCommitted(await store.commit(commit))).toMatchObject({ first: 1, last: 1 });
  const row = await witness.reads.session(commit.owner, commit.session);
  expect(row).toMatchObject({ title: "here", head: 1 });
});

test.each(cuts)("deltas and their neighbours survive a connection that is %s", async (cut) => {
  const { proxy, store, witness } = await openBehindProxy();
  const [a, b] = [await openTestSession(store), await openTestSession(store)];
  const { runId, under } = await a.startRun();
  proxy.set(cut);
  const results = await Promise.all([
    a.commit([aDelta(runId, "x"), aDelta(runId, "y")], { under, pace: "tick" }),
    a.commit([aDelta(runId, "z")], { under, pace: "tick" }),
    b.commit([aUserMessage("beside")]),
  ]);
  expect(results.map(({ first, last }) => [first, last])).toEqual([
    [5, 6],
    [7, 7],
    [2, 2],
  ]);
  expect(textsOf((await a.through(witness).events()).slice(-3))).toEqual(["x", "y", "z"]);
});

test.each(cuts)("leases and purges get one answer when the connection is %s", async (cut) => {
  const { proxy, store, witness } = await openBehindProxy();
  const chat = await openTestSession(store);
  const holder = aHolder();
  proxy.set(cut);
  const lease = await chat.lease("run", holder);
  expect(lease.fence).toBe(1);
  expect(await witness.leases.read("run", chat.session)).toEqual(lease);
  proxy.set(cut);
  expect(await store.leases.release(lease)).toEqual({ status: "released" });
  await chat.commit([anEvent("session.trashed", {})]);
  proxy.set(cut);
  expect(await store.purge(chat.owner, chat.session)).toEqual({ status: "purged", events: 2 });
  expect(await witness.reads.session(chat.owner, chat.session)).toBeNull();
});

test("[P1] the outcome is unknown while the database is unreachable, and a retry gets the first answer", async () => {
  const { proxy, store, witness } = await openBehindProxy({ giveUpMs: 300 });
  const chat = await openTestSession(store);
  proxy.set("cut after commit and refuse");
  const events = [aUserMessage("once")];
  expect(await chat.send(events)).toMatchObject({ status: "failed", code: "store_unknown" });
  expect(textsOf(await chat.through(witness).entries())).toEqual(["once"]);
  proxy.set("pass");
  expect(await chat.send(events)).toMatchObject({ first: 2, repeated: true });
  expect(textsOf(await chat.entries())).toEqual(["once"]);
});

test("a write that was never sent is unavailable, and the store reconnects on its own", async () => {
  const failures: string[] = [];
  const onWriteFailed = ({ code }: Failed): void => void failures.push(code);
  const { proxy, store } = await openBehindProxy({ giveUpMs: 300, onWriteFailed });
  const chat = await openTestSession(store);
  proxy.set("refuse");
  const events = [aUserMessage("later")];
  expect(await chat.send(events)).toMatchObject({ status: "failed", code: "store_unavailable" });
  expect(failures).toEqual(["store_unavailable"]);
  await expect(chat.row()).rejects.toMatchObject({
    name: "StoreFailure",
    code: "store_unavailable",
  });
  proxy.set("pass");
  expect(await chat.commit(events)).not.toHaveProperty("repeated");
  expect(textsOf(await chat.entries())).toEqual(["later"]);
});
