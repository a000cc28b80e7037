import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

import type { Fence, OwnerId, RunId } from "@holdfast/protocol";
import { contractSuite } from "@holdfast/testing/contracts/contract-suite";
import type {
  CountableDatabase,
  DatabaseWork,
  WorkCounter,
} from "@holdfast/testing/contracts/test-database";
import {
  aDelta,
  aHolder,
  anEvent,
  anOwner,
  aRunId,
  aToolStart,
  aUserMessage,
} from "@holdfast/testing/fixtures/factories";
import { openTestSession, type TestSession } from "@holdfast/testing/fixtures/open-session";

import type { Store } from "../src/ports/store.ts";

const few = 10;
const manyMessages = 20_000;
const manySessions = 100_000;
const manyRuns = 2_000;

interface Costs {
  readonly append: DatabaseWork;
  readonly checkpoint: DatabaseWork;
}

interface Running {
  readonly talk: TestSession;
  readonly runId: RunId;
  readonly under: { readonly lease: "run"; readonly fence: Fence };
}

async function aTalk(store: Store, owner: OwnerId): Promise<TestSession> {
  const talk = await openTestSession(store, {}, owner);
  for (let n = 0; n < few; n += 1) await talk.commit([aUserMessage(`${n}`)]);
  return talk;
}

async function aRunningTalk(store: Store, owner: OwnerId): Promise<Running> {
  const talk = await aTalk(store, owner);
  const runId = aRunId();
  const { fence } = await talk.lease("run", aHolder());
  const under = { lease: "run", fence } as const;
  await talk.commit([anEvent("run.state", { state: "claimed" }, runId)], { under });
  await talk.commit([aDelta(runId), aUserMessage()], { under });
  return { talk, runId, under };
}

export const flatCostContract = contractSuite<CountableDatabase>("cost", (factory) => {
  let database: CountableDatabase;
  let counter: WorkCounter;
  let quiet: TestSession;
  let busy: TestSession;
  let long: TestSession;
  let amongFew: Costs;
  let inShort: Costs;
  let inLong: Costs;

  beforeAll(async () => {
    database = await factory.create();
    counter = await database.countWork();
    amongFew = await costs(await counter.prepare((store) => aRunningTalk(store, anOwner())));

    const [quietOwner, busyOwner] = [anOwner(), anOwner()];
    const [short, running] = await counter.prepare(async (store) => {
      quiet = await aTalk(store, quietOwner);
      for (let n = 1; n < few; n += 1) await openTestSession(store, {}, quietOwner);
      busy = await aTalk(store, busyOwner);
      return [await aRunningTalk(store, busyOwner), await aRunningTalk(store, busyOwner)];
    });
    long = running.talk;
    await database.grow({
      sessions: { like: busy.session, count: manySessions },
      messages: { in: long.session, count: manyMessages },
      runs: { like: short.talk.session, count: manyRuns },
    });
    inShort = await costs(short);
    inLong = await costs(running);
    // A busy machine needs a while to write a hundred thousand sessions.
  }, 300_000);
  afterAll(async () => {
    await counter.close();
    await database.drop();
  });

  /** The cost of ten each: appended messages, and ticks of a run with text and a tool. */
  async function costs({ talk, runId, under }: Running): Promise<Costs> {
    // A message that changes the list's order costs more than the next one in the same session.
    await counter.prepare((store) => talk.through(store).commit([aUserMessage()]));
    const append = await counter.count(async (store) => {
      for (let n = 0; n < 10; n += 1) await talk.through(store).commit([aUserMessage()]);
    });
    const checkpoint = await counter.count(async (store) => {
      const there = talk.through(store);
      for (let n = 0; n < 10; n += 1)
        await there.commit([aDelta(runId), aToolStart(runId)], { under });
    });
    return { append, checkpoint };
  }

  test("[S3.19] a checkpoint costs the same for 10 and for 20,000 messages, among 10 and 100,000 sessions", async () => {
    expectSame(inShort.checkpoint, amongFew.checkpoint);
    expectSame(inLong.checkpoint, amongFew.checkpoint);
  });

  test("[P12] an append costs the same for 10 and for 20,000 messages, among 10 and 100,000 sessions", async () => {
    expectSame(inShort.append, amongFew.append);
    expectSame(inLong.append, amongFew.append);
  });

  test("[P12] a page of the list reads the same among 10 and among 100,000 sessions", async () => {
    const page = (talk: TestSession) =>
      counter.count(async (store) => {
        const query = { limit: few - 1 };
        const { sessions } = await store.reads.sessions(talk.owner, query);
        expect(sessions).toHaveLength(few - 1);
        expect((await store.reads.listed(talk.owner, query)).next).not.toBeNull();
      });
    const cost = await page(busy);
    expect(cost.touched).toBeGreaterThanOrEqual(few - 1);
    expect(cost).toEqual(await page(quiet));
    expect(cost.scanned).toEqual([]);
  });

  test("[P12] looking for work scans no idle session, and nothing that is over", async () => {
    const { scanned } = await counter.count(async ({ work, reads }) => {
      const now = Date.now();
      await work.queued(few);
      await work.live(few);
      await work.untitled(few);
      await work.unremembered(few, now);
      await work.undelivered(few);
      await work.expiredApprovals(few);
      await reads.memory(busy.owner);
      await reads.outbox(busy.owner, { states: ["pending", "unknown"], limit: few });
    });
    // An index of its own is fine: it contains only open work.
    expect(scanned.filter((scan) => /\b(s|sessions|events|outbox)$/.test(scan))).toEqual([]);
  });

  test("[P12] opening a session reads none of the messages it does not show", async () => {
    const damaged: number[] = [];
    const store = await database.open({ onDamage: ({ seq }) => damaged.push(seq) });
    onTestFinished(() => store.close());
    const there = long.through(store);
    await database.damageMessages(long.session, (await there.row()).head - 100);
    const shown = await there.snapshot({ limit: few });
    expect(shown.entries).toMatchObject({ more: true });
    expect(shown.entries.entries).toHaveLength(few);
    expect(damaged).toEqual([]);
    // A message that is read but does not decode is left out of the view.
    expect((await there.events({ limit: 100 })).length).toBeLessThan(few);
  });

  /**
   * Over ten commits a page splits here and there, and a small table gets another plan: allow three each, and nothing
   * that grows with the thousands added.
   */
  function expectSame(cost: DatabaseWork, other: DatabaseWork): void {
    expect(cost.writes).toBe(other.writes);
    expect(cost.scanned).toEqual([]);
    expect(Math.abs(cost.touched - other.touched)).toBeLessThanOrEqual(30);
  }
});
