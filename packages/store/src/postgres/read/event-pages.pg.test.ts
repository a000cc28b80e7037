import { createLog } from "@holdfast/engine";
import { aNotice, anOwner, aUserMessage, toSeq } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { recordStatements } from "@holdfast/testing/postgres/record-statements";
import { followFrom } from "@holdfast/testing/rigs/tail-rig";
import { ids } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";
import { openPostgresStore } from "../open.ts";
import type { PostgresOptions } from "../settings.ts";

async function openStores(options: Omit<PostgresOptions, "url"> = {}) {
  const database = await createDatabase();
  const open = () => openPostgresStore({ ...options, url: database.url });
  const [here, elsewhere] = [await open(), await open()];
  onTestFinished(async () => {
    await Promise.all([here.close(), elsewhere.close()]);
    await database[Symbol.asyncDispose]();
  });
  return { here, elsewhere };
}

test("pages that are read together are those that are read one after the other", async () => {
  const { here } = await openStores();
  const [long, short] = [await openTestSession(here), await openTestSession(here)];
  for (let message = 0; message < 5; message += 1) await long.commit([aUserMessage()]);
  await short.commit([aUserMessage()]);
  const all = { after: toSeq(0), limit: 100 };
  const queries = [
    [long.owner, long.session, all],
    [long.owner, long.session, { after: toSeq(2), limit: 2 }],
    [long.owner, long.session, { after: toSeq(2), upTo: toSeq(4), limit: 100 }],
    [short.owner, short.session, all],
    [short.owner, short.session, { after: toSeq(99), limit: 1 }],
    [anOwner(), short.session, all],
    [short.owner, ids.make("session"), all],
  ] as const;
  const together = await Promise.all(
    queries.map(([owner, session, query]) => here.reads.events(owner, session, query)),
  );
  const alone = [];
  for (const [owner, session, query] of queries)
    alone.push(await here.reads.events(owner, session, query));
  expect(together).toEqual(alone);
  expect(together.map((page) => page?.events.length)).toEqual([
    6,
    2,
    2,
    2,
    0,
    undefined,
    undefined,
  ]);
});

test("streams of many sessions that another process writes to are read by few statements", async () => {
  // Only signals wake a stream.
  const never = 600_000;
  const { here, elsewhere } = await openStores({ calmPollMs: never, livePollMs: never });
  const log = createLog(here);
  const chats = await Promise.all(Array.from({ length: 60 }, () => openTestSession(elsewhere)));
  const streams = chats.map(({ owner, session }) => followFrom(log, owner, session, 1));
  const next = streams.map((stream) => stream.next());
  // The first signals may be sent before this process listens.
  const isHeard = Promise.all(next);
  await Promise.all(chats.map((chat) => chat.commit([aNotice("one")])));
  await isHeard;

  const recorder = recordStatements();
  onTestFinished(() => recorder.stop());
  const heard = Promise.all(streams.map((stream) => stream.next()));
  await Promise.all(chats.map((chat) => chat.commit([aNotice("two")])));
  await heard;
  const reads = [...recorder.counts].filter(([text]) => text.includes("FROM deltas"));
  const count = reads.reduce((sum, [, times]) => sum + times, 0);
  expect(count).toBeGreaterThan(0);
  expect(count).toBeLessThan(chats.length / 2);
});
