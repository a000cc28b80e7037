import { clear } from "../src/history/cut.ts";
import { type Store, StoreFailure } from "../src/ports/store.ts";
import { aLane } from "@holdfast/testing/fixtures/factories";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { openAgentCache } from "@holdfast/testing/rigs/agent-rig";
import { openMemoryRig } from "@holdfast/testing/rigs/memory-rig";
import { ids } from "@holdfast/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";

import { postgresDatabase, sqliteDatabase } from "@holdfast/testing/contracts/test-database";

import { openMemorySession } from "@holdfast/testing/contracts/memory-session";

import { openContractRig, type ContractRig } from "@holdfast/testing/contracts/contract-rig";

const databases = [sqliteDatabase, postgresDatabase(createDatabase)];

describe.each(databases)("memory and the agents that go on $name", (kind) => {
  let bed: ContractRig;
  beforeAll(async () => {
    bed = await openContractRig(kind);
  });
  afterAll(() => bed[Symbol.asyncDispose]());

  test("[S2.10] eviction commits first, then drops the handle: later work without one commits nothing", async () => {
    const { memory, keeper, chat, turn, commit, isDirty } = await openMemorySession(bed);
    keeper.register(chat.owner, chat.session, memory);
    await turn("first");
    await keeper.evict(chat.session);
    expect([memory.spokenTexts, await isDirty()]).toEqual([[["first"]], false]);
    await turn("second");
    expect([await commit(), await isDirty(), memory.batches.length]).toEqual([false, true, 1]);
    expect([await commit(memory), await isDirty()]).toEqual([true, false]);
  });

  test("[S2.10] an agent that goes takes its handle along, also when the store cannot be read", async () => {
    const talk = await openMemorySession(bed);
    const reads = Object.create(bed.store.reads, {
      unremembered: { value: () => Promise.reject(new StoreFailure("store_unavailable", "Away.")) },
    }) as Store["reads"];
    const log = {
      ...bed.log,
      store: Object.create(bed.store, { reads: { value: reads } }) as Store,
    };
    const { keeper } = openMemoryRig(bed.store, { log });
    const { owner, session } = talk.chat;
    keeper.register(owner, session, talk.memory);
    await expect(keeper.evict(session)).rejects.toThrow("Away.");
    expect(keeper.figures().known).toBe(0);
  });

  /** The real cache, whose agents go as a host lets them go. */
  function openCache(keeper: Awaited<ReturnType<typeof openMemorySession>>["keeper"], count = 10) {
    return openAgentCache(bed.store, {
      limits: { bytes: 10_000, count, idleMs: 1_000, baselines: 8 },
      beforeClose: async (_agent, sessions) => {
        await Promise.all(sessions.map((session) => keeper.evict(session)));
      },
    });
  }

  test("[S2.11] eviction waits for a commit under way, flushes what is newer, then closes once", async () => {
    const { memory, keeper, chat, turn, commit, isDirty } = await openMemorySession(bed);
    const { cache, made } = openCache(keeper);
    const { owner, session } = chat;
    const lane = aLane();
    keeper.register(owner, session, memory);
    (await cache.borrow({ owner, session, lane })).release({ version: 1 });
    await turn("first");
    const { asked, open } = memory.waits();
    const first = commit();
    await asked;
    await turn("second");
    const evicted = cache.evict(lane);
    await bed.store.now();
    expect([made[0]?.closed, memory.spokenTexts]).toEqual([0, [["first"]]]);
    const newer = memory.waits();
    open();
    await newer.asked;
    expect(made[0]?.closed).toBe(0);
    newer.open();
    await evicted;
    expect([await first, made[0]?.closed, await isDirty()]).toEqual([true, 1, false]);
    expect(memory.spokenTexts).toEqual([["first"], ["second"]]);
    await cache.settled();
    expect(made[0]?.closed).toBe(1);
  });

  test("[S2.12] a full cache chooses at once, and commits and closes while others use it", async () => {
    const { memory, keeper, chat, turn, commit } = await openMemorySession(bed);
    const { cache, made } = openCache(keeper, 1);
    const { owner, session } = chat;
    keeper.register(owner, session, memory);
    (await cache.borrow({ owner, session, lane: aLane() })).release({ version: 1 });
    await turn("first");
    const { asked, open } = memory.waits();
    const underWay = commit();
    await asked;
    await turn("second");
    const slow = memory.waits();
    const other = ids.make("session");
    const lane = aLane();
    const borrowed = await cache.borrow({ owner, session: other, lane });
    // The first agent has lost its place and is not closed: its memory is not committed yet.
    expect([cache.figures().agents, cache.figures().evictions, made[0]?.closed]).toEqual([
      1,
      { count: 1 },
      0,
    ]);
    open();
    await slow.asked;
    borrowed.release({ version: 1 });
    const again = await cache.borrow({ owner, session: other, lane });
    expect([again.agent, made[0]?.closed, made.length]).toEqual([borrowed.agent, 0, 2]);
    slow.open();
    await cache.settled();
    expect([await underWay, made[0]?.closed, memory.spokenTexts]).toEqual([
      true,
      1,
      [["first"], ["second"]],
    ]);
  });

  test("[S2.13] clearing evicts when the session is free again: a slow provider holds nothing of it", async () => {
    const { memory, keeper, chat, turn, isDirty } = await openMemorySession(bed);
    const { cache, made } = openCache(keeper);
    const { owner, session } = chat;
    const lane = aLane();
    keeper.register(owner, session, memory);
    (await cache.borrow({ owner, session, lane })).release({ version: 1 });
    await turn("before");
    const slow = memory.waits();
    const target = { owner, session, command: ids.make("event") };
    expect((await clear({ log: bed.log, ids }, target)).status).toBe("committed");
    const evicted = cache.evict(lane);
    await slow.asked;
    // The provider has it in its hands; the session takes another message, and another clear.
    expect((await (await turn("after")).run()).state).toBe("completed");
    const again = { owner, session, command: ids.make("event") };
    expect((await clear({ log: bed.log, ids }, again)).status).toBe("committed");
    expect(made[0]?.closed).toBe(0);
    slow.open();
    await evicted;
    expect([memory.spokenTexts, made[0]?.closed]).toEqual([[["before"], ["after"]], 1]);
    expect(await isDirty()).toBe(false);
  });

  test("the store is sound after all of it", async () => {
    expect(await fsckFindings(bed.store)).toEqual([]);
  });
});
