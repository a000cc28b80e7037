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
  const admin = new Client({ connectionString: database.url });
  await admin.connect();
  onTestFinished(async () => {
    for (const node of nodes) await node.close();
    await admin.end();
    await database[Symbol.asyncDispose]();
  });
  return { nodes, admin };
}

/** Counts wake-ups; `next` resolves at the next one. */
function countWakes() {
  let wakes = 0;
  let resolve = (): void => undefined;
  return {
    wake: () => {
      wakes += 1;
      resolve();
    },
    count: () => wakes,
    next: () => new Promise<void>((onWake) => (resolve = onWake)),
  };
}

const neverMs = 60_000;

test("a commit on one node wakes a watcher on another without polling", async () => {
  const { nodes } = await openNodes({ calmPollMs: neverMs, livePollMs: neverMs });
  const chat = await openTestSession(nodes[0]);
  const watched = countWakes();
  const listening = watched.next();
  const stop = nodes[1].watch(chat.session, "calm", watched.wake);
  await listening;
  const woken = watched.next();
  await chat.commit([aUserMessage()]);
  await woken;
  stop();
  const countBefore = watched.count();
  await chat.commit([aUserMessage()]);
  await chat.through(nodes[1]).commit([aUserMessage()]);
  expect(watched.count()).toBe(countBefore);
});

test("a node's own commit wakes its watchers before the commit resolves", async () => {
  const { nodes } = await openNodes({ calmPollMs: neverMs, livePollMs: neverMs });
  const chat = await openTestSession(nodes[0]);
  const watched = countWakes();
  onTestFinished(nodes[0].watch(chat.session, "live", watched.wake));
  const countBefore = watched.count();
  await chat.commit([aUserMessage()]);
  expect(watched.count()).toBeGreaterThan(countBefore);
});

test("every watcher is woken once the broken signal connection is back", async () => {
  const { nodes, admin } = await openNodes({ calmPollMs: neverMs, livePollMs: neverMs });
  const chat = await openTestSession(nodes[0]);
  const watched = countWakes();
  const listening = watched.next();
  onTestFinished(nodes[1].watch(chat.session, "calm", watched.wake));
  await listening;
  const back = watched.next();
  await admin.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast signals' AND datname = current_database()",
  );
  await back;
  const countBefore = watched.count();
  const woken = watched.next();
  await chat.commit([aUserMessage()]);
  await woken;
  expect(watched.count()).toBeGreaterThan(countBefore);
});

test("polling notices a change that nobody signalled", async () => {
  const { nodes, admin } = await openNodes({ calmPollMs: 20, livePollMs: neverMs });
  const chat = await openTestSession(nodes[0]);
  const watched = countWakes();
  onTestFinished(nodes[1].watch(chat.session, "calm", watched.wake));
  // A new watcher is woken twice without a change: by the new connection and by the first poll.
  while (watched.count() < 2) await watched.next();
  const woken = watched.next();
  await admin.query("UPDATE heads SET head = head + 1 WHERE session_id = $1", [chat.session]);
  await woken;
  expect(watched.count()).toBeGreaterThan(2);
});

test("queued work and changed values of the register are signalled to other nodes, and lost signals told", async () => {
  const { nodes, admin } = await openNodes({});
  const chat = await openTestSession(nodes[0]);
  const { owner, session } = chat;
  const heard: unknown[] = [];
  const connected = Promise.withResolvers<void>();
  onTestFinished(
    nodes[1].watchWork!((item) => {
      heard.push(item);
      connected.resolve();
    }),
  );
  onTestFinished(nodes[1].watchRegister!(["setting"], () => void heard.push("setting")));
  await connected.promise;
  const put = (key: string) => nodes[0].register.put({ owner, key, value: "1", expect: 0 });
  await put("setting/a");
  await expect.poll(() => heard).toEqual([null, "setting", "setting"]);
  await put("other/a");
  nodes[0].signalWork!({ owner, session });
  await expect.poll(() => heard.slice(3)).toEqual([{ owner, session }]);

  await admin.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast signals' AND datname = current_database()",
  );
  await expect.poll(() => heard.slice(4)).toEqual([null, "setting"]);
});
