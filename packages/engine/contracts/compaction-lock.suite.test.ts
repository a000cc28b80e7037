import { hostname } from "node:os";
import { threadId } from "node:worker_threads";
import { expect, test } from "vitest";

import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";

import { createCompactionLock } from "../src/context/compaction-lock.ts";
import { describeHolder } from "../src/log/decide.ts";

const minute = 60_000;

export const compactionLockContract = contractSuite("the compaction lock", (factory) => {
  const rig = useRig(() => openContractRig(factory));
  const { currentHolder } = factory.identity;

  /** A session of its own, and the lock as two agents see it. */
  async function aLock(options: { readonly ttlMs?: number } = {}) {
    const { session } = await openTestSession(rig.store);
    const lock = createCompactionLock(rig.store.leases, options);
    return { session, lock, ada: currentHolder("ada"), bob: currentHolder("bob") };
  }

  test("[S0.1] the lock of an unlocked session is acquired, and its holder is read back", async () => {
    const { session, lock, ada } = await aLock();
    expect(await lock.holder(session)).toBeNull();
    expect(await lock.acquire(session, ada)).toMatchObject({ session, fence: 1 });
    expect(await lock.holder(session)).toEqual(ada);
  });

  test("[S0.2] a second holder is refused, and the first stays the holder", async () => {
    const { session, lock, ada, bob } = await aLock();
    await lock.acquire(session, ada);
    expect(await lock.acquire(session, bob)).toBeNull();
    expect(await lock.holder(session)).toEqual(ada);
  });

  test("[S0.3] after a release nobody holds it, and another can acquire it under a higher fence", async () => {
    const { session, lock, ada, bob } = await aLock();
    const first = await lock.acquire(session, ada);
    await lock.release(session, ada);
    expect(await lock.holder(session)).toBeNull();
    const second = await lock.acquire(session, bob);
    expect(second?.fence).toBeGreaterThan(first?.fence ?? Infinity);
    expect(await lock.holder(session)).toEqual(bob);
  });

  test("[S0.4] a release by a non-holder changes nothing", async () => {
    const { session, lock, ada, bob } = await aLock();
    const held = await lock.acquire(session, ada);
    await lock.release(session, bob);
    await lock.release(session, { ...ada, nonce: bob.nonce });
    expect(await lock.holder(session)).toEqual(ada);
    expect(await lock.acquire(session, bob)).toBeNull();
    expect(await lock.renew(held!)).toMatchObject({ fence: held!.fence });
  });

  test("[S0.5] releasing an unlocked session is harmless", async () => {
    const { session, lock, ada } = await aLock();
    await lock.release(session, ada);
    expect(await lock.holder(session)).toBeNull();
    expect(await lock.acquire(session, ada)).not.toBeNull();
  });

  test("[S0.6] two sessions have two independent locks and holders", async () => {
    const { session: one, lock, ada, bob } = await aLock();
    const { session: two } = await aLock();
    expect(await lock.acquire(one, ada)).not.toBeNull();
    expect(await lock.acquire(two, bob)).not.toBeNull();
    expect(await Promise.all([lock.holder(one), lock.holder(two)])).toEqual([ada, bob]);
    await lock.release(one, ada);
    expect(await Promise.all([lock.holder(one), lock.holder(two)])).toEqual([null, bob]);
  });

  test("[S0.7] an expired lock reads as free, and another holder acquires it", async () => {
    const { session, lock, ada, bob } = await aLock();
    await lock.acquire(session, ada);
    rig.advanceClock(5 * minute);
    expect(await lock.holder(session)).toBeNull();
    expect(await lock.acquire(session, bob)).not.toBeNull();
    expect(await lock.holder(session)).toEqual(bob);
    await lock.release(session, ada);
    expect(await lock.holder(session)).toEqual(bob);
  });

  test("[S0.8] an unexpired lock is held up to its last moments", async () => {
    const { session, lock, ada, bob } = await aLock();
    await lock.acquire(session, ada);
    // Minus a second for the duration of the test itself.
    rig.advanceClock(5 * minute - 1_000);
    expect(await lock.holder(session)).toEqual(ada);
    expect(await lock.acquire(session, bob)).toBeNull();
  });

  test("[S0.9] with an empty session id, acquire returns no, release does nothing, and there is no holder", async () => {
    const { lock, ada } = await aLock();
    expect(await lock.acquire("", ada)).toBeNull();
    await lock.release("", ada);
    expect(await lock.holder("")).toBeNull();
  });

  test("[S0.13] a holder names host, process, thread, agent and nonce, and diagnostics show them", async () => {
    const { session, lock, ada } = await aLock();
    await lock.acquire(session, ada);
    const described = await lock.holder(session);
    expect(described).toMatchObject({
      host: hostname(),
      pid: process.pid,
      thread: threadId,
      agent: "ada",
      nonce: ada.nonce,
    });
    expect(describeHolder(described!)).toBe(
      `ada on ${hostname()}, process ${process.pid}, thread ${threadId} (${ada.nonce})`,
    );
  });

  test("[S0.14] the time to live is five minutes by default, and configurable", async () => {
    const usual = await aLock();
    const short = await aLock({ ttlMs: 2_000 });
    const before = await rig.store.now();
    await usual.lock.acquire(usual.session, usual.ada);
    await short.lock.acquire(short.session, short.ada);
    const after = await rig.store.now();
    const ends = async (session: typeof usual.session) =>
      (await rig.store.leases.read("compaction", session))!.expiresAt;
    expect(await ends(usual.session)).toBeGreaterThanOrEqual(before + 300_000);
    expect(await ends(usual.session)).toBeLessThanOrEqual(after + 300_000);
    expect(await ends(short.session)).toBeGreaterThanOrEqual(before + 2_000);
    expect(await ends(short.session)).toBeLessThanOrEqual(after + 2_000);
  });

  test("[S0.18] acquiring again as the same holder extends the lock under its fence", async () => {
    const { session, lock, ada, bob } = await aLock();
    const first = await lock.acquire(session, ada);
    rig.advanceClock(4 * minute);
    const again = await lock.acquire(session, ada);
    expect(again?.fence).toBe(first?.fence);
    rig.advanceClock(4 * minute);
    expect(await lock.holder(session)).toEqual(ada);
    expect(await lock.acquire(session, bob)).toBeNull();
    rig.advanceClock(minute);
    expect(await lock.holder(session)).toBeNull();
  });
});
