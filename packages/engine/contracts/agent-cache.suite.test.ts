import { beforeEach, expect, test } from "vitest";

import { ids, type LaneKey, type SessionId } from "@holdfast/protocol";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { openWarmAgents } from "@holdfast/testing/contracts/warm-agents";
import { withMembers } from "@holdfast/testing/contracts/wrapped-stores";
import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import { aLane, aUserMessage } from "@holdfast/testing/fixtures/factories";
import {
  assertPresent,
  openTestSession,
  type TestSession,
} from "@holdfast/testing/fixtures/open-session";
import { createGate, createTool, okResult, until } from "@holdfast/testing/rigs/run-rig";

import { type Store, StoreFailure } from "../src/ports/store.ts";
import { answerApproval } from "../src/run/answer-approval.ts";

/** Tests every line through a runner: which agents it reuses, and what its model is sent. */
export const agentCacheContract = contractSuite("the agent cache", (factory) => {
  const rig = useRig(() => openContractRig(factory));
  let a: TestSession;
  let b: TestSession;
  let lane: LaneKey;
  beforeEach(async () => {
    a = await openTestSession(rig.store);
    b = await openTestSession(rig.store, {}, a.owner);
    lane = aLane();
  });

  const writeMeanwhile = (chat: TestSession, text: string) => chat.commit([aUserMessage(text)]);

  /** The store, with reads of this session's row replaced. */
  const withSessionReads = (chat: TestSession, read: Store["reads"]["session"]): Store =>
    withMembers(rig.store, {
      reads: {
        ...rig.store.reads,
        session: (owner, session) =>
          session === chat.session ? read(owner, session) : rig.store.reads.session(owner, session),
      },
    });

  test("[S1.1] turns that alternate between two sessions of a lane are all served by one agent", async () => {
    const agents = openWarmAgents(rig);
    for (const chat of [a, b, a, b, a, b]) await agents.turn(chat, lane, "a turn");
    expect(agents.requests).toHaveLength(6);
    expect(agents.cache.figures()).toMatchObject({
      builds: 1,
      hits: 5,
      folds: 0,
      evictions: {},
      agents: 1,
    });
  });

  test("[S1.2] five more turns on a session reuse its agent, which its own writes do not make stale", async () => {
    const agents = openWarmAgents(rig);
    for (let turn = 0; turn < 6; turn += 1) await agents.turn(a, lane, "a turn");
    expect(agents.cache.figures()).toMatchObject({ builds: 1, hits: 5, folds: 0 });
    for (let turn = 1; turn < 6; turn += 1)
      expect(agents.extendsRequest(turn - 1, turn)).toBe(true);
  });

  test("[S1.4] a turn on another session moves neither the first one's baseline nor its context", async () => {
    const agents = openWarmAgents(rig);
    await agents.turn(a, lane, "to a");
    await writeMeanwhile(a, "said meanwhile");
    await agents.turn(b, lane, "to b");
    expect(agents.cache.figures()).toMatchObject({ hits: 1, folds: 0 });
    await agents.turn(a, lane, "to a again");
    expect(agents.cache.figures()).toMatchObject({ hits: 1, folds: 1, builds: 1 });
    expect(JSON.stringify(agents.requests[2])).toContain("said meanwhile");
    expect(agents.extendsRequest(0, 2)).toBe(true);
    await agents.turn(b, lane, "to b again");
    expect(agents.cache.figures()).toMatchObject({ hits: 2, folds: 1, builds: 1 });
    expect(JSON.stringify(agents.requests[3])).not.toContain("said meanwhile");
  });

  test("[S1.5] after a turn the session's baseline is the stored version, with what others wrote before", async () => {
    const agents = openWarmAgents(rig);
    await agents.turn(a, lane, "one");
    await writeMeanwhile(a, "said meanwhile");
    await agents.turn(a, lane, "two");
    expect(agents.cache.figures()).toMatchObject({ hits: 0, folds: 1 });
    await agents.turn(a, lane, "three");
    expect(agents.cache.figures()).toMatchObject({ hits: 1, folds: 1, builds: 1 });
    expect(agents.extendsRequest(1, 2)).toBe(true);
  });

  test("[S1.6] an agent that its run returned without a version is reused, not compared, and reads anew", async () => {
    const pay = createTool("pay", async () => okResult("paid"), { approval: () => "ask" });
    const agents = openWarmAgents({
      store: rig.store,
      tools: [pay],
      reply: (step) => (step === 2 ? [calls("pay")] : [says(`Answer ${step}`)]),
    });
    await agents.turn(a, lane, "one");
    // The run waits until somebody answers, so its agent is returned without a version.
    await agents.turn(a, lane, "pay");
    expect(agents.cache.figures()).toMatchObject({ builds: 1, hits: 1 });
    await writeMeanwhile(a, "said meanwhile");
    const { owner, session } = a;
    const open = await rig.store.reads.approvals(owner, { session, limit: 1 });
    await answerApproval(rig.log, ids, owner, assertPresent(open.approvals[0]).id, "once");
    agents.runner.notify(owner, session);
    await agents.runner.idle();
    expect(agents.cache.figures()).toMatchObject({ builds: 1, hits: 2, folds: 0, agents: 1 });
    expect(JSON.stringify(agents.requests[2])).toContain("said meanwhile");
  });

  test("[S1.6] an agent that is still being built is kept for its run, even when memory is scarce, and reused afterwards", async () => {
    const agents = openWarmAgents(rig);
    const built = createGate();
    agents.holdBuilding(built.promise);
    await agents.send(a, lane, "to a");
    await until(() => agents.cache.figures().agents === 1);
    agents.setMemory("scarce");
    agents.cache.evictIfNeeded();
    expect(agents.cache.figures()).toMatchObject({ agents: 1, builds: 0, evictions: {} });
    agents.setMemory("enough");
    await agents.send(b, lane, "to b");
    await until(() => agents.cache.figures().agents === 2);
    built.open();
    await agents.runner.idle();
    await agents.turn(a, lane, "to a again");
    await agents.turn(b, lane, "to b again");
    expect(agents.cache.figures()).toMatchObject({ builds: 2, hits: 2, folds: 0, agents: 2 });
    expect(agents.requests).toHaveLength(4);
  });

  test("[S1.7] an agent that has gone on to other sessions still checks the baseline it has, and moves it", async () => {
    const agents = openWarmAgents(rig);
    const c = await openTestSession(rig.store, {}, a.owner);
    for (const chat of [a, b, c]) await agents.turn(chat, lane, "a turn");
    await writeMeanwhile(a, "said meanwhile");
    await agents.turn(a, lane, "another");
    expect(agents.cache.figures()).toMatchObject({ hits: 2, folds: 1, builds: 1 });
    expect(JSON.stringify(agents.requests[3])).toContain("said meanwhile");
    await agents.turn(c, lane, "another");
    await agents.turn(a, lane, "a third");
    expect(agents.cache.figures()).toMatchObject({ hits: 4, folds: 1, builds: 1 });
  });

  test("[S1.8] an agent is reused for a session it does not know, and after its session could not be read", async () => {
    const failures: unknown[] = [];
    let isAway = false;
    const store = withSessionReads(a, async (...args) => {
      if (isAway) throw new StoreFailure("store_unavailable", "unplugged");
      return rig.store.reads.session(...args);
    });
    const agents = openWarmAgents({ store, deps: { onError: (error) => failures.push(error) } });
    await agents.turn(b, lane, "to b");
    await agents.turn(a, lane, "to a");
    expect(agents.cache.figures()).toMatchObject({ builds: 1, hits: 1, folds: 0 });
    isAway = true;
    await agents.turn(a, lane, "to a, unread");
    expect(failures).toMatchObject([{ code: "store_unavailable" }]);
    expect(agents.requests).toHaveLength(2);
    isAway = false;
    await agents.runner.sweep();
    await agents.runner.idle();
    expect(agents.requests).toHaveLength(3);
    expect(JSON.stringify(agents.requests[2])).toContain("to a, unread");
    expect(agents.cache.figures()).toMatchObject({ builds: 1, hits: 3, folds: 0, agents: 1 });
  });

  test("[S1.9] a session that cannot be read yet holds up neither the event loop nor another lane", async () => {
    const hanging = createGate();
    const asked: SessionId[] = [];
    const store = withSessionReads(a, async (owner, session) => {
      asked.push(session);
      await hanging.promise;
      return rig.store.reads.session(owner, session);
    });
    const agents = openWarmAgents({ store });
    await agents.send(a, lane, "to a");
    await until(() => asked.length > 0);
    await agents.send(b, aLane(), "to b");
    await until(() => agents.requests.length === 1);
    expect(JSON.stringify(agents.requests[0])).toContain("to b");
    hanging.open();
    await agents.runner.idle();
    expect(JSON.stringify(agents.requests[1])).toContain("to a");
  });
});
