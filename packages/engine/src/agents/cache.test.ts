import type { LaneKey, SessionId } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { Agent, AgentRequest } from "../ports/agent.ts";
import { aLane, aUserMessage } from "@holdfast/testing/fixtures/factories";
import { createTestAgent, openAgentCache } from "@holdfast/testing/rigs/agent-rig";
import { type TestSession, openTestSession } from "@holdfast/testing/fixtures/open-session";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { type AgentCache, type AgentCacheDeps, CacheEntry } from "./cache.ts";

let harness: StoreHarness;
let a: TestSession;
let b: TestSession;
let lane: LaneKey;

beforeEach(async () => {
  harness = await referenceHarness.open();
  a = await openTestSession(harness.store);
  b = await openTestSession(harness.store, {}, a.owner);
  lane = aLane();
});
afterEach(() => harness.close());

const openCache = (rest: Partial<AgentCacheDeps<string>> = {}) =>
  openAgentCache(harness.store, rest);

const of = ({ owner, session }: TestSession): AgentRequest => ({ owner, session, lane });

/** One turn: borrows the agent, writes as a run would and returns the agent at the version of its own last write. */
async function takeTurn(cache: AgentCache<string>, chat: TestSession) {
  const borrowed = await cache.borrow(of(chat));
  const { version } = await chat.commit([aUserMessage("a turn")]);
  borrowed.release({ version });
  return borrowed;
}

const write = (chat: TestSession) => chat.commit([aUserMessage("from elsewhere")]);

describe("reuse", () => {
  test("[S1.1] another session under the same lane gets the cached agent, and it stays in the cache", async () => {
    const { cache, made } = openCache();
    const first = await takeTurn(cache, a);
    const second = await takeTurn(cache, b);
    expect(second.agent).toBe(first.agent);
    expect(second.status).toBe("new");
    expect(cache.entriesOf(lane).map((entry) => entry.agent)).toEqual([first.agent]);
    expect(made).toHaveLength(1);
  });

  test("[S1.2] five turns on one session reuse the agent, whose own writes do not make it stale", async () => {
    const { cache, made } = openCache();
    await takeTurn(cache, a);
    for (let turn = 0; turn < 5; turn += 1) {
      expect(await takeTurn(cache, a)).toMatchObject({ agent: made[0], status: "current" });
    }
    expect(cache.figures()).toMatchObject({ hits: 5, folds: 0, builds: 1 });
  });

  test("[S1.14] a foreign write to the first session is noticed after a turn on the second", async () => {
    const { cache } = openCache();
    await takeTurn(cache, a);
    await takeTurn(cache, b);
    await write(a);
    expect((await takeTurn(cache, a)).status).toBe("behind");
    expect((await takeTurn(cache, b)).status).toBe("current");
    expect((await takeTurn(cache, a)).status).toBe("current");
    expect(cache.figures()).toMatchObject({ folds: 1, builds: 1 });
  });

  test("a run borrows exclusively: a second run on the lane gets another agent", async () => {
    const { cache, made } = openCache();
    const first = await cache.borrow(of(a));
    const second = await cache.borrow(of(b));
    expect(second.agent).not.toBe(first.agent);
    first.release();
    second.release();
    expect(made).toHaveLength(2);
    expect(cache.entriesOf(lane)).toHaveLength(2);
  });

  test("an agent of another configuration is closed and rebuilt", async () => {
    let signature = "one";
    const { cache, made, factory } = openCache();
    factory.signature = async () => signature;
    await takeTurn(cache, a);
    signature = "two";
    await takeTurn(cache, a);
    await cache.settled();
    expect(made.map((agent) => agent.closed)).toEqual([1, 0]);
    expect(cache.figures().evictions).toEqual({ configuration: 1 });
  });

  test("a failed build is reported to its run and leaves no placeholder", async () => {
    const { cache, factory } = openCache();
    const { build } = factory;
    factory.build = () => Promise.reject(new Error("no key"));
    await expect(cache.borrow(of(a))).rejects.toThrow("no key");
    expect(cache.entriesOf(lane)).toEqual([]);
    factory.build = build;
    expect((await takeTurn(cache, a)).status).toBe("new");
  });

  test("an agent forgets the session that it has not served for longest", async () => {
    const { cache } = openCache({
      limits: { bytes: 10_000, count: 10, idleMs: 1_000, baselines: 2 },
    });
    const c = await openTestSession(harness.store, {}, a.owner);
    for (const chat of [a, b, a, c]) await takeTurn(cache, chat);
    expect((await takeTurn(cache, a)).status).toBe("current");
    expect((await takeTurn(cache, b)).status).toBe("new");
  });
});

describe("re-baselining", () => {
  const entryFor = (session: SessionId | null, rest: Partial<{ agent: Agent | null }> = {}) => {
    const entry = new CacheEntry<string>({
      lane,
      signature: "same",
      agent: createTestAgent(),
      usedAt: 0,
      maxBaselines: 8,
      ...rest,
    });
    entry.session = session;
    return entry;
  };

  test("[S1.4] does nothing to an entry of another session", () => {
    const { cache } = openCache();
    const entry = entryFor(b.session);
    entry.baselines.set(b.session, 3);
    cache.rebaseline(entry, a.session, 9);
    expect(entry.session).toBe(b.session);
    expect(entry.baselines.get(b.session)?.version).toBe(3);
    expect(entry.baselines.get(a.session)).toBeUndefined();
  });

  test("[S1.5] moves the entry's own session to the live version", async () => {
    const { cache } = openCache();
    await takeTurn(cache, a);
    const { version } = await write(a);
    const [entry] = cache.entriesOf(lane);
    if (entry === undefined) throw new Error("The agent is not in the cache.");
    cache.rebaseline(entry, a.session, version);
    expect(entry.baselines.get(a.session)?.version).toBe(version);
    expect((await takeTurn(cache, a)).status).toBe("current");
  });

  test("[S1.6] leaves unchecked entries and placeholders alone, and both stay reusable", async () => {
    const { cache } = openCache();
    const optedOut = new CacheEntry<string>({
      lane,
      signature: "same",
      agent: createTestAgent(),
      usedAt: 0,
      maxBaselines: 8,
      coherence: "unchecked",
    });
    optedOut.baselines.set(a.session, 1);
    const placeholder = entryFor(a.session, { agent: null });
    placeholder.baselines.set(a.session, 1);
    for (const entry of [optedOut, placeholder]) {
      cache.rebaseline(entry, a.session, 7);
      expect(entry.baselines.get(a.session)?.version).toBe(1);
    }
    cache.add(optedOut);
    await write(a);
    const borrowed = await cache.borrow(of(a));
    expect(borrowed).toMatchObject({ agent: optedOut.agent, status: "unknown" });
    expect(placeholder.baselines.statusFor(a.session, 1)).toBe("current");
  });

  test("[S1.7] checks an entry that knows its version but not its session, and re-baselines it", async () => {
    const { cache } = openCache();
    const { version } = await write(a);
    const entry = entryFor(null);
    entry.baselines.set("any", version);
    cache.add(entry);
    await write(a);
    const borrowed = await cache.borrow(of(a));
    expect(borrowed).toMatchObject({ agent: entry.agent, status: "behind", baseline: version });
    borrowed.release(await write(a));
    expect((await cache.borrow(of(a))).status).toBe("current");
  });

  test("[S1.8] reuses the agent when the stored version cannot be read, and when none is known", async () => {
    let isReadable = true;
    const { cache, made } = openCache({
      readVersion: async (owner, session) => {
        if (!isReadable) throw new Error("away");
        return (await harness.store.reads.session(owner, session))?.version ?? null;
      },
    });
    await takeTurn(cache, a);
    await write(a);
    isReadable = false;
    const unreadable = await cache.borrow(of(a));
    expect(unreadable).toMatchObject({ agent: made[0], status: "unknown" });
    unreadable.release(await a.row());
    isReadable = true;
    expect(await cache.borrow(of(b))).toMatchObject({ agent: made[0], status: "new" });
  });

  test("an agent that served more sessions than it remembers knows nothing stale of the forgotten ones", async () => {
    const { cache } = openCache({
      limits: { bytes: 10_000, count: 10, idleMs: 1_000, baselines: 1 },
    });
    await takeTurn(cache, a);
    await takeTurn(cache, b);
    await write(a);
    expect((await takeTurn(cache, a)).status).toBe("new");
  });
});
