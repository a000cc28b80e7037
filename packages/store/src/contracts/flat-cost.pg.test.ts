import type { Store } from "@holdfast/engine";
import {
  aDelta,
  aHolder,
  aMessageId,
  anEvent,
  anOwner,
  aRunId,
  aUserMessage,
  type OpenSession,
  openSession,
} from "@holdfast/engine/testing";
import { ids, type OwnerId } from "@holdfast/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createDatabase } from "../../../../test/support/postgres.ts";
import { type Counter, countOnPostgres, countOnSqlite, type Work } from "./count-work.ts";
import { openPlace, postgresDatabase, sqliteDatabase, type TestDatabase } from "./database.ts";
import { addMessagesLike, addSessionsLike, spoilOldMessages } from "./grow.ts";

const databases = [sqliteDatabase, postgresDatabase(createDatabase)];
const few = 10;
const manyMessages = 20_000;
const manySessions = 20_000;

interface Costs {
  readonly append: Work;
  readonly checkpoint: Work;
}

describe.each(databases)("cost on $name", ({ name, create }) => {
  let database: TestDatabase;
  let counter: Counter;
  let store: Store;
  let quiet: OpenSession;
  let busy: OpenSession;
  let short: OpenSession;
  let long: OpenSession;
  let amongFew: Costs;
  let inShort: Costs;
  let inLong: Costs;
  const damaged: number[] = [];

  beforeAll(async () => {
    database = await create();
    store = await openPlace(database.place, { onDamage: ({ seq }) => damaged.push(seq) });
    counter = name === "sqlite" ? await countOnSqlite(database) : countOnPostgres(database);
    amongFew = await costs(await aTalk(anOwner()));

    const [quietOwner, busyOwner] = [anOwner(), anOwner()];
    quiet = await aTalk(quietOwner);
    for (let n = 1; n < few; n += 1) await openSession(store, {}, quietOwner);
    busy = await aTalk(busyOwner);
    await addSessionsLike(database, busy.session, manySessions);
    short = await aTalk(busyOwner);
    long = await aTalk(busyOwner);
    await addMessagesLike(database, long.session, manyMessages);
    if (name === "postgres") await database.query("ANALYZE");
    inShort = await costs(short);
    inLong = await costs(long);
  });
  afterAll(async () => {
    await Promise.all([counter.close(), store.close()]);
    await database.drop();
  });

  async function aTalk(owner: OwnerId): Promise<OpenSession> {
    const talk = await openSession(store, {}, owner);
    for (let n = 0; n < few; n += 1) await talk.commit([aUserMessage(`${n}`)]);
    return talk;
  }

  /** What ten of each cost: messages that are appended, and ticks of a run with text and a tool in them. */
  async function costs(talk: OpenSession): Promise<Costs> {
    const append = await counter.count(async (counted) => {
      for (let n = 0; n < 10; n += 1) await talk.through(counted).commit([aUserMessage()]);
    });
    const runId = aRunId();
    const { fence } = await talk.lease("run", aHolder());
    const under = { lease: "run", fence } as const;
    await talk.commit([anEvent("run.state", { state: "claimed" }, runId)], { under });
    const tool = () => {
      const named = { callId: ids.make("call"), resultId: aMessageId(), name: "terminal" };
      return anEvent("tool.started", { ...named, input: {}, replay: "never" }, runId);
    };
    const checkpoint = await counter.count(async (counted) => {
      const there = talk.through(counted);
      for (let n = 0; n < 10; n += 1) await there.commit([aDelta(runId), tool()], { under });
    });
    return { append, checkpoint };
  }

  test("[S3.19] a checkpoint costs the same for 10 and for 20,000 messages, among 10 and 20,000 sessions", async () => {
    expectSame(inShort.checkpoint, amongFew.checkpoint);
    expectSame(inLong.checkpoint, amongFew.checkpoint);
  });

  test("[P12] an append costs the same for 10 and for 20,000 messages, among 10 and 20,000 sessions", async () => {
    expectSame(inShort.append, amongFew.append);
    expectSame(inLong.append, amongFew.append);
  });

  test("[P12] a page of the list reads the same among 10 and among 20,000 sessions", async () => {
    const page = (talk: OpenSession) =>
      counter.count((counted) => counted.reads.sessions(talk.owner, { limit: few - 1 }));
    expect(await page(busy)).toEqual(await page(quiet));
  });

  test("[P12] opening a session looks at none of the messages that it does not show", async () => {
    await spoilOldMessages(database, long.session, (await long.row()).head - 100);
    const shown = await long.snapshot({ limit: few });
    expect(shown.entries).toMatchObject({ more: true });
    expect(shown.entries.entries).toHaveLength(few);
    expect(damaged).toEqual([]);
    // A message that is looked at and cannot be read is left out of the view.
    expect((await long.events({ limit: 100 })).length).toBeLessThan(few);
  });

  /**
   * In ten commits a page is split here and there, and another plan is chosen for a small table: three each at most. A table
   * of a few rows may be read whole; what grows with the history would be read by its thousands.
   */
  function expectSame(cost: Work, other: Work): void {
    expect({ ...cost, touched: 0, scanned: 0 }).toEqual({ ...other, touched: 0, scanned: 0 });
    expect(cost.scanned).toBeLessThan(manyMessages / 100);
    expect(Math.abs(cost.touched - other.touched)).toBeLessThanOrEqual(30);
  }
});
