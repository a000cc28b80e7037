import { ids } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type CachedContext, cachedContextBytes } from "../context/session-context.ts";
import { AgentCache } from "../agents/cache.ts";
import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { gate, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { aHolder, aLane, aRunState, aUserMessage } from "@holdfast/testing/fixtures/factories";
import { createTestAgent } from "@holdfast/testing/rigs/agent-rig";
import {
  createGate,
  createRunner,
  openRunRig,
  transcriptLines,
  untilStreamed,
} from "@holdfast/testing/rigs/run-rig";
import { watchStore, withMembers } from "@holdfast/testing/contracts/wrapped-stores";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { createLog } from "../log/log.ts";
import type { Store, WorkItem } from "../ports/index.ts";
import { admitMessage } from "./admit.ts";
import { borrowAgent } from "./call-model.ts";
import { type LossReason, RunHandle } from "./run-handle.ts";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

test("[P3] an expired lease is left alone until it has gone unrenewed for another half of its duration", async () => {
  const clock = manualClock();
  const rig = await openRunRig(harness.store, { model: scriptedModel([says("Here.")]), clock });
  const { chat, runner } = rig;
  const { fence } = await chat.lease("run", aHolder(), 1);
  const runId = ids.make("run");
  const claimed = [aRunState(runId, "claimed"), aUserMessage("Hello", undefined, runId)];
  await chat.commit(claimed, { under: { lease: "run", fence } });
  await harness.advanceClock(1);
  const sweep = async () => {
    await runner.sweep();
    await runner.idle();
    return (await rig.run(runId)).attempt;
  };
  expect(await sweep()).toBe(0);
  await clock.advance(14_999);
  expect(await sweep()).toBe(0);
  await clock.advance(1);
  expect(await sweep()).toBe(1);
});

test("[P1] a message is acknowledged once it is durable, and not before", async () => {
  const watched = watchStore(harness.store);
  const rig = await openRunRig(watched.store, { model: scriptedModel([]) });
  const { owner, session } = rig.chat;
  const held = watched.holdNext("input.accepted");
  let acknowledged = false;
  const input = { owner, session, clientId: "mine", text: "Hello" };
  const admitting = admitMessage(createLog(watched.store), ids, input).then((admission) => {
    acknowledged = true;
    return admission;
  });
  await held.reached;
  for (let turns = 0; turns < 20; turns += 1) await nextTurn();
  expect([acknowledged, (await rig.chat.snapshot()).inbox]).toEqual([false, []]);
  held.release();
  expect(await admitting).toMatchObject({ status: "accepted" });
  expect((await rig.chat.snapshot()).inbox).toHaveLength(1);
});

test("a message that is announced while the work on its session ends is answered without a sweep", async () => {
  const ending = createGate();
  const announced = createGate();
  const { leases } = harness.store;
  const store = withMembers(harness.store, {
    leases: {
      ...leases,
      async release(lease) {
        ending.open();
        await announced.promise;
        return leases.release(lease);
      },
    },
  });
  const model = scriptedModel([says("One."), says("Two.")]);
  const rig = await openRunRig(store, { model });
  const { chat, runner } = rig;
  await rig.say("First");
  runner.notify(chat.owner, chat.session);
  await ending.promise;
  await rig.say("Second");
  runner.notify(chat.owner, chat.session);
  announced.open();
  await runner.idle();
  expect(transcriptLines(await rig.entries())).toEqual([
    "user: First",
    "assistant: One.",
    "user: Second",
    "assistant: Two.",
  ]);
});

test("hosts that leave a session to another one tell it once, and not each other again and again", async () => {
  type Wake = NonNullable<Parameters<NonNullable<Store["watchWork"]>>[0]>;
  const wakes: Wake[] = [];
  let signals = 0;
  const chat = await openTestSession(harness.store);
  const hosts = Array.from({ length: 4 }, (_, own) => {
    // As PostgreSQL does: everybody else hears of it, a little later.
    const store = withMembers(harness.store, {
      signalWork(item: WorkItem) {
        signals += 1;
        setImmediate(() => {
          for (const [host, wake] of wakes.entries()) if (host !== own) wake(item);
        });
      },
      watchWork(wake: Wake) {
        wakes[own] = wake;
        return () => undefined;
      },
    });
    const check = async (): Promise<"elsewhere"> => {
      await nextTurn();
      await nextTurn();
      return "elsewhere";
    };
    const placement = { check, prepare: async () => null };
    const options = { model: scriptedModel([]), deps: { placement } };
    return createRunner(store, createLog(store), options);
  });
  for (const host of hosts) host.start();
  for (const host of hosts) host.notify(chat.owner, chat.session);
  for (let turns = 0; turns < 200; turns += 1) await nextTurn();
  for (const host of hosts) await host.stop();
  expect(signals).toBe(hosts.length);
});

test("a run whose store was closed is left alone, and nothing is reported as a bug", async () => {
  const closed = createGate();
  const errors: unknown[] = [];
  const rig = await openRunRig(harness.store, {
    model: scriptedModel([[says("One"), gate(closed.promise), says(" two.")]]),
    deps: { onError: (error) => void errors.push(error) },
  });
  const { chat, runner } = rig;
  await rig.say("Count");
  runner.notify(chat.owner, chat.session);
  await untilStreamed({ chat }, "One");
  await harness.store.close();
  closed.open();
  await runner.idle();
  expect(errors).toEqual([]);
});

describe("the context that an agent keeps", () => {
  const cases: readonly (readonly [LossReason, "kept" | "dropped"])[] = [
    ["ended", "kept"],
    ["fenced", "dropped"],
    ["store", "dropped"],
    ["stopping", "dropped"],
  ];
  test.each(cases)("after a run that was lost as %s is %s", async (reason, fate) => {
    const rig = await openRunRig(harness.store, { model: scriptedModel([]) });
    const { owner } = rig.chat;
    const clock = manualClock();
    const cache = new AgentCache<CachedContext>({
      factory: { signature: async () => "same", build: async () => createTestAgent() },
      clock,
      limits: { bytes: 10_000_000, count: 10, idleMs: 1_000, baselines: 8 },
      beforeClose: async () => {},
      memory: () => "enough",
      sizeOf: cachedContextBytes,
      closeBudgetMs: 10_000,
      onError: (error) => {
        throw error;
      },
    });
    const lane = aLane();
    const lease = await rig.chat.lease();
    const startRun = async () => {
      const runId = ids.make("run");
      const { head } = await rig.chat.row();
      const run = new RunHandle(rig.log, ids, { owner, runId, lease, head, lane }, clock);
      await run.write([run.event("run.state", { state: "claimed" })]);
      return run;
    };
    const first = await startRun();
    const borrowed = await borrowAgent(cache, first);
    await first.write([first.event("run.state", { state: "interrupted" })]);
    first.lose(reason);
    borrowed.release();
    const next = await borrowAgent(cache, await startRun());
    const isSame = next.cachedContext === borrowed.cachedContext;
    expect(isSame ? "kept" : "dropped").toBe(fate);
    next.release();
  });
});
