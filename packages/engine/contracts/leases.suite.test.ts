import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { Fence } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { endPeers, nearFuture, type Peer, startPeers } from "@holdfast/testing/contracts/peer";
import type { SharedDatabase } from "@holdfast/testing/contracts/test-database";
import { aCommit, anEvent, toSeq } from "@holdfast/testing/fixtures/factories";
import { assertPresent, openTestSession } from "@holdfast/testing/fixtures/open-session";

import { createCompactionLock } from "../src/context/compaction-lock.ts";
import type { Holder } from "../src/ports/rows.ts";

export const leasesContract = contractSuite<SharedDatabase>("leases", (factory) => {
  const rig = useRig(() => openContractRig(factory));
  const { createLiveness, currentHolder } = factory.identity;
  let processes: Peer[];
  let threads: Peer[];
  beforeAll(async () => {
    [processes, threads] = await Promise.all([
      startPeers(rig.database, "process", 8),
      startPeers(rig.database, "thread", 8),
    ]);
  });
  afterAll(() => endPeers([...processes, ...threads]));

  /** Everybody asks at the same moment; returns who won and who holds it. */
  async function contend(contenders: readonly Peer[]) {
    const { session } = await openTestSession(rig.store);
    const holders = await Promise.all(contenders.map((peer, n) => peer.holder(`agent ${n}`)));
    const moment = nearFuture();
    const results = await Promise.all(
      contenders.map((peer, n) => {
        peer.startAt(moment);
        const lock = createCompactionLock(peer.store.leases);
        return lock.acquire(session, assertPresent(holders[n]));
      }),
    );
    const winners = holders.filter((_, n) => results[n] !== null);
    return {
      results,
      winners,
      holder: await createCompactionLock(rig.store.leases).holder(session),
    };
  }

  test("[S0.10] eight threads contend at once: one wins, seven are refused, the winner holds it", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { results, winners, holder } = await contend(threads);
      expect(results).toHaveLength(8);
      expect(winners).toEqual([holder]);
    }
  });

  test("[S0.10] eight processes contend at once: one wins, seven are refused, the winner holds it", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { results, winners, holder } = await contend(processes);
      expect(results).toHaveLength(8);
      expect(winners).toEqual([holder]);
    }
  });

  test("[S0.13] threads of one process, and processes of one host, are distinguishable", async () => {
    const { session } = await openTestSession(rig.store);
    const lock = createCompactionLock(rig.store.leases);
    const seen = new Set<string>();
    for (const peer of [...threads, ...processes]) {
      const holder = await peer.holder("agent");
      await lock.acquire(session, holder);
      const { host, pid, thread } = assertPresent(await lock.holder(session));
      seen.add(`${host} ${pid} ${thread}`);
      await lock.release(session, holder);
    }
    expect(seen.size).toBe(threads.length + processes.length);
  });

  test("[S0.16] a holder stopped past its expiry while another compacted cannot commit", async () => {
    const { owner, session } = await openTestSession(rig.store);
    const [sleeper, other] = [assertPresent(processes[0]), assertPresent(processes[1])];
    const compaction = (fence: Fence) =>
      aCommit({ owner, session }, [aCompaction()], { under: { lease: "compaction", fence } });
    const slow = createCompactionLock(sleeper.store.leases, { ttlMs: 150 });
    const held = assertPresent(await slow.acquire(session, await sleeper.holder("slow")));
    sleeper.signal("SIGSTOP");
    try {
      // Sent while it is stopped: the first thing it does on waking up.
      const late = sleeper.store.commit(compaction(held.fence));
      const lock = createCompactionLock(other.store.leases);
      const acquired = assertPresent(
        await untilAcquired(lock, session, await other.holder("quick")),
      );
      expect(await other.store.commit(compaction(acquired.fence))).toMatchObject({
        status: "committed",
      });
      sleeper.signal("SIGCONT");
      expect(await late).toMatchObject({ status: "refused", code: "fenced" });
    } finally {
      sleeper.signal("SIGCONT");
    }
    expect(await slow.renew(held)).toBeNull();
    const page = assertPresent(
      await rig.store.reads.events(owner, session, { after: toSeq(0), limit: 10 }),
    );
    expect(page.events.map(({ type }) => type)).toEqual(["session.created", "context.compacted"]);
  });

  test("[S0.17] a slow but living holder keeps its lock by heartbeat, past the time to live", async () => {
    const { session } = await openTestSession(rig.store);
    const ttlMs = 4_000;
    const lock = createCompactionLock(assertPresent(processes[2]).store.leases, { ttlMs });
    const holder = await assertPresent(processes[2]).holder("slow");
    const contender = createCompactionLock(assertPresent(processes[3]).store.leases, { ttlMs });
    const rival = await assertPresent(processes[3]).holder("rival");
    // It renews so often that only a machine that stalls for a whole lifetime could lose it.
    const heartbeat = lock.keep(assertPresent(await lock.acquire(session, holder)), ttlMs / 20);
    const until = performance.now() + 1.2 * ttlMs;
    while (performance.now() < until) {
      expect(await contender.acquire(session, rival)).toBeNull();
      await wait(20);
    }
    expect(heartbeat.lost.aborted).toBe(false);
    expect(await lock.holder(session)).toEqual(holder);
    await heartbeat.stop();
    expect(await untilAcquired(contender, session, rival)).not.toBeNull();
  });

  test("[S0.21] a holder killed on this host is replaced before its expiry", async () => {
    const { session } = await openTestSession(rig.store);
    const doomed = await rig.database.startPeer("process");
    const lock = createCompactionLock(rig.store.leases, { liveness: createLiveness() });
    const first = await createCompactionLock(doomed.store.leases).acquire(
      session,
      await doomed.holder("doomed"),
    );
    const successor = currentHolder("successor");
    expect(await lock.acquire(session, successor)).toBeNull();
    await doomed.kill();
    const second = await lock.acquire(session, successor);
    expect(second?.fence).toBeGreaterThan(first?.fence ?? Infinity);
    expect(await lock.holder(session)).toEqual(successor);
  });

  test("[S0.21] a holder not proven dead on this host is left alone until its expiry", async () => {
    const lock = createCompactionLock(rig.store.leases, { liveness: createLiveness() });
    const gone = await goneProcess(rig.database);
    const doubtful: Record<string, Partial<Holder>> = {
      "on another host": { host: "another-host" },
      "of another boot": { boot: "another-boot" },
      "in another container": { pidNamespace: "pid:[1]" },
      "whose boot is not known": { boot: null },
      "whose container is not known": { pidNamespace: null },
      "whose start is not known": { processStart: null },
    };
    for (const [name, part] of Object.entries(doubtful)) {
      const { session } = await openTestSession(rig.store);
      const holder = { ...gone, ...part };
      expect(await lock.acquire(session, holder)).not.toBeNull();
      const rival = await lock.acquire(session, currentHolder("rival"));
      const stays = await lock.holder(session);
      expect({ name, rival, stays }).toEqual({ name, rival: null, stays: holder });
    }
    // The same identity without any doubt is replaced: it was the doubt that protected the others.
    const { session } = await openTestSession(rig.store);
    await lock.acquire(session, gone);
    expect(await lock.acquire(session, currentHolder("rival"))).not.toBeNull();
  });

  test("[S0.21] a process is never mistaken for the dead one whose pid it got", async () => {
    const liveness = createLiveness();
    const lock = createCompactionLock(rig.store.leases, { liveness });
    const { session } = await openTestSession(rig.store);
    const living = await assertPresent(processes[4]).holder("living");
    expect(await lock.acquire(session, living)).not.toBeNull();
    // The previous process with this pid cannot extend, release or lose the lock of the current one.
    const before = { ...living, processStart: "1", nonce: "an earlier one" };
    expect(await lock.acquire(session, before)).toBeNull();
    await lock.release(session, before);
    expect(await lock.acquire(session, currentHolder("rival"))).toBeNull();
    expect(await lock.holder(session)).toEqual(living);
  });
});

function aCompaction() {
  return anEvent("context.compacted", {
    epoch: 1,
    covers: { from: toSeq(1), to: toSeq(1) },
    summary: "Hello was said.",
  });
}

type Lock = ReturnType<typeof createCompactionLock>;

async function untilAcquired(lock: Lock, session: Parameters<Lock["acquire"]>[0], holder: Holder) {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const held = await lock.acquire(session, holder);
    if (held !== null || performance.now() > deadline) return held;
    await wait(10);
  }
}

/** The full identity of a process on this host that is gone. */
async function goneProcess(database: SharedDatabase): Promise<Holder> {
  const doomed = await database.startPeer("process");
  const holder = await doomed.holder("gone");
  await doomed.kill();
  return holder;
}
