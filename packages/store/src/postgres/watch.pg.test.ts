import { aUserMessage } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { openPostgresStore } from "./open.ts";
import { type PostgresOptions } from "./settings.ts";

async function openNodes(options: Omit<PostgresOptions, "url">) {
  const database = await createDatabase();
  const nodes = [
    await openPostgresStore({ ...options, url: database.url }),
    await openPostgresStore({ ...options, url: database.url }),
  ] as const;
  const administrator = new Client({ connectionString: database.url });
  await administrator.connect();
  onTestFinished(async () => {
    for (const node of nodes) await node.close();
    await administrator.end();
    await database[Symbol.asyncDispose]();
  });
  return { nodes, administrator };
}

/** Counts wakes; `next` resolves at the first one from now on. */
function countWakes() {
  let wakes = 0;
  let resolve = (): void => undefined;
  return {
    wake: () => {
      wakes += 1;
      resolve();
    },
    count: () => wakes,
    next: () => new Promise<void>((done) => (resolve = done)),
  };
}

const never = 60_000;

test("a commit on one node wakes a watcher on another without polling", async () => {
  const { nodes } = await openNodes({ calmPollMs: never, livePollMs: never });
  const chat = await openTestSession(nodes[0]);
  const watched = countWakes();
  const listening = watched.next();
  const stop = nodes[1].watch(chat.session, "calm", watched.wake);
  await listening;
  const woken = watched.next();
  await chat.commit([aUserMessage()]);
  await woken;
  stop();
  const before = watched.count();
  await chat.commit([aUserMessage()]);
  await chat.through(nodes[1]).commit([aUserMessage()]);
  expect(watched.count()).toBe(before);
});

test("a node's own commit wakes its watchers before its answer is read", async () => {
  const { nodes } = await openNodes({ calmPollMs: never, livePollMs: never });
  const chat = await openTestSession(nodes[0]);
  const watched = countWakes();
  onTestFinished(nodes[0].watch(chat.session, "live", watched.wake));
  const before = watched.count();
  await chat.commit([aUserMessage()]);
  expect(watched.count()).toBeGreaterThan(before);
});

test("after the connection for signals broke, everyone who watches is woken once it is back", async () => {
  const { nodes, administrator } = await openNodes({ calmPollMs: never, livePollMs: never });
  const chat = await openTestSession(nodes[0]);
  const watched = countWakes();
  const listening = watched.next();
  onTestFinished(nodes[1].watch(chat.session, "calm", watched.wake));
  await listening;
  const back = watched.next();
  await administrator.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast signals' AND datname = current_database()",
  );
  await back;
  const before = watched.count();
  const woken = watched.next();
  await chat.commit([aUserMessage()]);
  await woken;
  expect(watched.count()).toBeGreaterThan(before);
});

test("a change that nobody signalled is noticed by looking", async () => {
  const { nodes, administrator } = await openNodes({ calmPollMs: 20, livePollMs: never });
  const chat = await openTestSession(nodes[0]);
  const watched = countWakes();
  onTestFinished(nodes[1].watch(chat.session, "calm", watched.wake));
  // Whoever begins to watch is woken twice for nothing: by the new connection, and by the first look.
  while (watched.count() < 2) await watched.next();
  const woken = watched.next();
  await administrator.query("UPDATE heads SET head = head + 1 WHERE session_id = $1", [
    chat.session,
  ]);
  await woken;
  expect(watched.count()).toBeGreaterThan(2);
});
