import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";

import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { endPeers, type Peer } from "@holdfast/testing/contracts/peer";
import type { HoldableDatabase } from "@holdfast/testing/contracts/test-database";
import {
  aCommit,
  aDelta,
  aHolder,
  aNotice,
  aRunId,
  type SessionRef,
  toSeq,
} from "@holdfast/testing/fixtures/factories";
import { assertPresent, openTestSession, textsOf } from "@holdfast/testing/fixtures/open-session";
import { until } from "@holdfast/testing/rigs/run-rig";

import type { Commit } from "../src/ports/commit.ts";

export const fencingContract = contractSuite<HoldableDatabase>("the single writer", (factory) => {
  const rig = useRig(() => openContractRig(factory));
  let sleeper: Peer;
  let successor: Peer;
  beforeAll(async () => {
    const { database } = rig;
    [sleeper, successor] = await Promise.all([
      database.startHoldablePeer(),
      database.startPeer("process"),
    ]);
  });
  afterAll(() => endPeers([sleeper, successor]));

  /** A run that the sleeper has claimed briefly and that has started to answer. */
  async function aRunOfTheSleeper() {
    const { owner, session } = await openTestSession(rig.store);
    const runId = aRunId();
    const request = { kind: "run", session, ttlMs: 100 } as const;
    const lease = await sleeper.store.leases.acquire({ ...request, holder: aHolder() });
    if (lease.status !== "acquired") throw new Error("the sleeper must be first");
    const say = (text: string, fence = lease.lease.fence): Commit =>
      aCommit({ owner, session }, [aDelta(runId, text)], { under: { lease: "run", fence } });
    await sleeper.store.commit(say("before"));
    const takeOver = async () => {
      const deadline = performance.now() + 20_000;
      for (;;) {
        const taken = await successor.store.leases.acquire({ ...request, holder: aHolder() });
        if (taken.status === "acquired") return taken.lease.fence;
        if (performance.now() > deadline) throw new Error(`not taken over: ${taken.status}`);
        await wait(10);
      }
    };
    const { lease: mine } = lease;
    return { owner, session, mine, say, takeOver };
  }

  async function logOf({ owner, session }: SessionRef) {
    const page = await rig.store.reads.events(owner, session, { after: toSeq(0), limit: 100 });
    return textsOf(assertPresent(page).events);
  }

  test("[P3] a paused runner that wakes up late is refused, whatever it tries", async () => {
    const run = await aRunOfTheSleeper();
    sleeper.signal("SIGSTOP");
    try {
      const late = sleeper.store.commit(run.say("late"));
      const fence = await run.takeOver();
      expect(fence).toBeGreaterThan(run.mine.fence);
      const taken = await successor.store.commit(run.say("taken over", fence));
      expect(taken.status).toBe("committed");
      sleeper.signal("SIGCONT");
      expect(await late).toMatchObject({ status: "refused", code: "fenced" });
      expect(await sleeper.store.commit(run.say("again"))).toMatchObject({ code: "fenced" });
      const notice = aCommit(run, [aNotice("the end")], {
        under: { lease: "run", fence: run.mine.fence },
      });
      expect(await sleeper.store.commit(notice)).toMatchObject({ code: "fenced" });
      const renewed = await sleeper.store.leases.renew([run.mine], 30_000);
      expect(renewed).toMatchObject({ status: "renewed", lost: [{ fence: run.mine.fence }] });
      expect(await sleeper.store.leases.release(run.mine)).toEqual({ status: "not_held" });
      expect(await successor.store.commit(run.say("and on", fence))).toMatchObject({
        status: "committed",
      });
    } finally {
      sleeper.signal("SIGCONT");
    }
    expect(await logOf(run)).toEqual(["session.created", "before", "taken over", "and on"]);
  });

  test("[P3] a write in flight during a take-over is refused inside its transaction", async () => {
    const run = await aRunOfTheSleeper();
    const { kind, session } = run.mine;
    await until(async () => (await rig.store.leases.read(kind, session)) === null);
    const { written: late, taken: fence } = await rig.database.overtakeWrite(
      session,
      () => sleeper.store.commit(run.say("late")),
      run.takeOver,
    );
    expect(await late).toMatchObject({ status: "refused", code: "fenced" });
    expect(await successor.store.commit(run.say("taken over", await fence))).toMatchObject({
      status: "committed",
    });
    expect(await logOf(run)).toEqual(["session.created", "before", "taken over"]);
  });
});
