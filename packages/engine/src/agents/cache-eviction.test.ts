import type { LaneKey, SessionId } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { aLane } from "@holdfast/testing/fixtures/factories";
import { openAgentCache } from "@holdfast/testing/rigs/agent-rig";
import { type TestSession, openTestSession } from "@holdfast/testing/fixtures/open-session";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { nextTurn } from "@holdfast/testing/fakes/manual-clock";
import type { AgentCache } from "./cache.ts";

let harness: StoreHarness;
let a: TestSession;
let b: TestSession;

beforeEach(async () => {
  harness = await referenceHarness.open();
  a = await openTestSession(harness.store);
  b = await openTestSession(harness.store, {}, a.owner);
});
afterEach(() => harness.close());

const lane = aLane();
const on = ({ owner, session }: TestSession, location: LaneKey = lane) => ({
  owner,
  session,
  lane: location,
});

async function takeTurn(cache: AgentCache<string>, chat: TestSession): Promise<void> {
  const borrowed = await cache.borrow(on(chat));
  borrowed.release(await chat.row());
}

describe("eviction", () => {
  test("happens by count and by bytes, least recently used first, and never to a running agent", async () => {
    const { cache, made, clock } = openAgentCache({
      limits: { bytes: 10_000, count: 2, idleMs: 1_000, baselines: 8 },
    });
    const running = await cache.borrow(on(a));
    await clock.advance(1);
    (await cache.borrow(on(a, aLane()))).release();
    await clock.advance(1);
    (await cache.borrow(on(a, aLane()))).release();
    await cache.settled();
    expect(made.map((agent) => agent.closed)).toEqual([0, 1, 0]);
    running.release();
    expect(cache.figures()).toMatchObject({ agents: 2, evictions: { count: 1 } });
  });

  test("happens by idle time and when memory is scarce", async () => {
    let memory: "enough" | "scarce" = "enough";
    const { cache, made, clock } = openAgentCache({ memory: () => memory });
    await takeTurn(cache, a);
    await clock.advance(1_000);
    cache.evictIfNeeded();
    await cache.settled();
    expect(made[0]?.closed).toBe(1);
    await takeTurn(cache, a);
    memory = "scarce";
    cache.evictIfNeeded();
    await cache.settled();
    expect(made[1]?.closed).toBe(1);
    expect(cache.figures()).toMatchObject({ agents: 0, evictions: { idle: 1, pressure: 1 } });
  });

  test("closes agents in the background: other lanes use the cache meanwhile, and a hanging close is abandoned after its time", async () => {
    const closedSessions: (readonly SessionId[])[] = [];
    const { cache, made, clock } = openAgentCache({
      beforeClose: (_agent, sessions) => {
        closedSessions.push(sessions);
        return new Promise(() => {});
      },
    });
    await takeTurn(cache, a);
    const evicted = cache.evict(lane);
    await nextTurn();
    expect(closedSessions).toEqual([[a.session]]);
    const other = await cache.borrow(on(b, aLane()));
    other.release();
    expect(made[0]?.closed).toBe(0);
    await clock.advance(10_000);
    await evicted;
    expect(made[0]?.closed).toBe(1);
  });
});

test("on close, the cache closes every agent that is not in use, once each", async () => {
  const { cache, made } = openAgentCache();
  await takeTurn(cache, a);
  const running = await cache.borrow(on(b, aLane()));
  await cache.close();
  await cache.close();
  expect(made.map((agent) => agent.closed)).toEqual([1, 0]);
  running.release();
});
