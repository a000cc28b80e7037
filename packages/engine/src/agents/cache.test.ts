import type { LaneKey } from "@holdfast/protocol";
import { ids } from "@holdfast/protocol";
import { beforeEach, describe, expect, test } from "vitest";

import type { AgentRequest } from "../ports/agent.ts";
import { aLane, anOwner } from "@holdfast/testing/fixtures/factories";
import { openAgentCache } from "@holdfast/testing/rigs/agent-rig";
import type { AgentCache } from "./cache.ts";

let lane: LaneKey;
beforeEach(() => {
  lane = aLane();
});

const owner = anOwner();
const [a, b, c] = [ids.make("session"), ids.make("session"), ids.make("session")];
const at = (session: typeof a, version: number): AgentRequest => ({
  owner,
  session,
  lane,
  version,
});

/** One turn: borrows the agent at a version and returns it at the next one. */
async function takeTurn(cache: AgentCache<string>, session: typeof a, version = 1) {
  const borrowed = await cache.borrow(at(session, version));
  borrowed.release({ version: version + 1, cached: `${session} at ${version + 1}` });
  return borrowed;
}

describe("reuse", () => {
  test("[S1.1] another session of the lane gets the cached agent, and nothing cached for the first session", async () => {
    const { cache, made } = openAgentCache();
    const first = await takeTurn(cache, a);
    const second = await takeTurn(cache, b);
    expect(second).toMatchObject({ agent: first.agent, cached: undefined });
    expect(await takeTurn(cache, a, 2)).toMatchObject({ agent: first.agent, cached: `${a} at 2` });
    expect(made).toHaveLength(1);
    expect(cache.figures()).toMatchObject({ agents: 1, hits: 2, folds: 0, evictions: {} });
  });

  test("[S1.14] a write by others to the first session is noticed after a turn on the second", async () => {
    const { cache } = openAgentCache();
    await takeTurn(cache, a);
    await takeTurn(cache, b);
    await takeTurn(cache, a, 7);
    expect(cache.figures()).toMatchObject({ hits: 1, folds: 1, builds: 1 });
    await takeTurn(cache, b, 2);
    await takeTurn(cache, a, 8);
    expect(cache.figures()).toMatchObject({ hits: 3, folds: 1, builds: 1 });
  });

  test("a run borrows exclusively: a second run on the lane gets another agent", async () => {
    const { cache, made } = openAgentCache();
    const first = await cache.borrow(at(a, 1));
    const second = await cache.borrow(at(b, 1));
    expect(second.agent).not.toBe(first.agent);
    first.release({ version: 2 });
    second.release({ version: 2 });
    expect(made).toHaveLength(2);
    expect(cache.figures().agents).toBe(2);
    // A session gets the idle agent that knows it.
    expect((await cache.borrow(at(b, 2))).agent).toBe(second.agent);
  });

  test("[S1.4] an agent that is returned twice keeps what its next borrower left", async () => {
    const { cache } = openAgentCache();
    const first = await cache.borrow(at(a, 1));
    first.release({ version: 2 });
    const second = await cache.borrow(at(b, 1));
    first.release({ version: 9 });
    const third = await cache.borrow(at(c, 1));
    expect(third.agent).not.toBe(second.agent);
    second.release({ version: 2 });
    await takeTurn(cache, a, 2);
    await takeTurn(cache, b, 2);
    expect(cache.figures()).toMatchObject({ hits: 3, folds: 0 });
  });

  test("[S1.8] without a version there is nothing to compare, and the agent is reused", async () => {
    const { cache, made } = openAgentCache();
    await takeTurn(cache, a);
    const borrowed = await cache.borrow({ owner, session: a, lane });
    expect(borrowed).toMatchObject({ agent: made[0], cached: `${a} at 2` });
    expect(cache.figures()).toMatchObject({ hits: 1, folds: 0, builds: 1 });
  });

  test("a failed build is reported to its run and leaves no placeholder", async () => {
    const { cache, factory } = openAgentCache();
    const { build } = factory;
    factory.build = () => Promise.reject(new Error("no key"));
    await expect(cache.borrow(at(a, 1))).rejects.toThrow("no key");
    expect(cache.figures().agents).toBe(0);
    factory.build = build;
    await takeTurn(cache, a);
    expect(cache.figures()).toMatchObject({ agents: 1, builds: 1 });
  });

  test("an agent forgets the session that it has not served for longest", async () => {
    const { cache } = openAgentCache({
      limits: { bytes: 10_000, count: 10, idleMs: 1_000, baselines: 2 },
    });
    for (const [session, version] of [
      [a, 1],
      [b, 1],
      [a, 2],
      [c, 1],
    ] as const)
      await takeTurn(cache, session, version);
    expect((await takeTurn(cache, a, 3)).cached).toBe(`${a} at 3`);
    // It knows nothing about a forgotten session that could be stale.
    expect((await takeTurn(cache, b, 9)).cached).toBeUndefined();
    expect(cache.figures().folds).toBe(0);
  });
});

describe("another configuration", () => {
  test("closes the session's agent and builds another", async () => {
    let signature = "one";
    const { cache, made, factory } = openAgentCache();
    factory.signature = async () => signature;
    await takeTurn(cache, a);
    signature = "two";
    await takeTurn(cache, a, 2);
    await cache.settled();
    expect(made.map((agent) => agent.closed)).toEqual([1, 0]);
    expect(cache.figures().evictions).toEqual({ configuration: 1 });
  });

  test("[S1.1] of another session of the lane is no reason to close an agent", async () => {
    const { cache, made, factory } = openAgentCache();
    factory.signature = async ({ session }) => (session === a ? "one" : "two");
    for (const version of [1, 2, 3]) {
      await takeTurn(cache, a, version);
      await takeTurn(cache, b, version);
    }
    await cache.settled();
    expect(made.map((agent) => agent.closed)).toEqual([0, 0]);
    expect(cache.figures()).toMatchObject({ builds: 2, hits: 4, evictions: {} });
  });
});
