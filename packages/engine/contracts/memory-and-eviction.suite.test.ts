import { expect, test } from "vitest";

import { ids } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { openMemorySession } from "@holdfast/testing/contracts/memory-session";
import { says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { aLane } from "@holdfast/testing/fixtures/factories";
import { openAgentCache } from "@holdfast/testing/rigs/agent-rig";
import { openMemoryRig, RecordingMemory } from "@holdfast/testing/rigs/memory-rig";
import { until } from "@holdfast/testing/rigs/run-rig";

import { createEngine } from "../src/create-engine.ts";
import { clear } from "../src/history/cut.ts";
import { type Store, StoreFailure } from "../src/ports/store.ts";

export const memoryAndEvictionContract = contractSuite("memory and agent eviction", (factory) => {
  const contractRig = useRig(() => openContractRig(factory));

  test("[S2.10] eviction commits first, then drops the handle: later work without one commits nothing", async () => {
    const { memory, committer, chat, turn, commit, isDirty } = await openMemorySession(contractRig);
    committer.register(chat.owner, chat.session, memory);
    await turn("first");
    await committer.evict(chat.session);
    expect([memory.spokenTexts, await isDirty()]).toEqual([[["first"]], false]);
    await turn("second");
    expect([await commit(), await isDirty(), memory.batches.length]).toEqual([false, true, 1]);
    expect([await commit(memory), await isDirty()]).toEqual([true, false]);
  });

  test("[S2.10] an evicted agent takes its handle with it, even if the store cannot be read", async () => {
    const talk = await openMemorySession(contractRig);
    const reads = Object.create(contractRig.store.reads, {
      unremembered: { value: () => Promise.reject(new StoreFailure("store_unavailable", "Away.")) },
    }) as Store["reads"];
    const log = {
      ...contractRig.log,
      store: Object.create(contractRig.store, { reads: { value: reads } }) as Store,
    };
    const { committer } = openMemoryRig(contractRig.store, { log });
    const { owner, session } = talk.chat;
    committer.register(owner, session, talk.memory);
    await expect(committer.evict(session)).rejects.toThrow("Away.");
    expect(committer.figures().known).toBe(0);
  });

  /** The real cache, closing agents as a host does. */
  function openCache(
    committer: Awaited<ReturnType<typeof openMemorySession>>["committer"],
    count = 10,
  ) {
    return openAgentCache({
      limits: { bytes: 10_000, count, idleMs: 1_000, baselines: 8 },
      beforeClose: async (_agent, sessions) => {
        await Promise.all(sessions.map((session) => committer.evict(session)));
      },
    });
  }

  test("[S2.11] eviction waits for a commit under way, flushes what is newer, then closes once", async () => {
    const { memory, committer, chat, turn, commit, isDirty } = await openMemorySession(contractRig);
    const { cache, made } = openCache(committer);
    const { owner, session } = chat;
    const lane = aLane();
    committer.register(owner, session, memory);
    (await cache.borrow({ owner, session, lane })).release({ version: 1 });
    await turn("first");
    const { asked, open } = memory.waits();
    const first = commit();
    await asked;
    await turn("second");
    const evicted = cache.evict(lane);
    await contractRig.store.now();
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
    const { memory, committer, chat, turn, commit } = await openMemorySession(contractRig);
    const { cache, made } = openCache(committer, 1);
    const { owner, session } = chat;
    committer.register(owner, session, memory);
    (await cache.borrow({ owner, session, lane: aLane() })).release({ version: 1 });
    await turn("first");
    const { asked, open } = memory.waits();
    const committing = commit();
    await asked;
    await turn("second");
    const slow = memory.waits();
    const other = ids.make("session");
    const lane = aLane();
    const borrowed = await cache.borrow({ owner, session: other, lane });
    // The first agent is evicted but not closed: its memory is not committed yet.
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
    expect([await committing, made[0]?.closed, memory.spokenTexts]).toEqual([
      true,
      1,
      [["first"], ["second"]],
    ]);
  });

  test("[S2.13] clearing evicts once the session is free again: a slow provider blocks none of it", async () => {
    const { memory, committer, chat, turn, isDirty } = await openMemorySession(contractRig);
    const { cache, made } = openCache(committer);
    const { owner, session } = chat;
    const lane = aLane();
    committer.register(owner, session, memory);
    (await cache.borrow({ owner, session, lane })).release({ version: 1 });
    await turn("before");
    const slow = memory.waits();
    const target = { owner, session, command: ids.make("event") };
    expect((await clear({ log: contractRig.log, ids }, target)).status).toBe("committed");
    const evicted = cache.evict(lane);
    await slow.asked;
    // The provider is still working on it; the session takes another message, and another clear.
    expect((await (await turn("after")).run()).state).toBe("completed");
    const again = { owner, session, command: ids.make("event") };
    expect((await clear({ log: contractRig.log, ids }, again)).status).toBe("committed");
    expect(made[0]?.closed).toBe(0);
    slow.open();
    await evicted;
    expect([memory.spokenTexts, made[0]?.closed]).toEqual([[["before"], ["after"]], 1]);
    expect(await isDirty()).toBe(false);
  });

  test("the store is sound afterwards", async () => {
    expect(await fsckFindings(contractRig.store)).toEqual([]);
  });

  test("[S2.10] an agent that is evicted as soon as its first turn ends commits that turn", async () => {
    const memory = new RecordingMemory("pressed");
    const engine = createEngine({
      log: contractRig.log,
      model: scriptedModel([says("Hello.")]),
      memory,
      memoryPressure: () => "scarce",
      starts: "when asked",
    });
    const session = await engine.open(ids.make("session"));
    expect(await engine.send({ session, text: "first" })).toMatchObject({ status: "accepted" });
    await until(() => memory.batches.length === 1);
    expect(memory.spokenTexts).toEqual([["first"]]);
    expect(engine.memory.figures().boundaries).toEqual({ eviction: 1 });
    await engine.stop();
    expect(memory.batches).toHaveLength(1);
  });
});
