import { ids } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { describe, expect, test } from "vitest";

import type { Failed } from "../ports/commit.ts";
import type { LeaseRef, Leases, RenewResult } from "../ports/lease.ts";
import { StoreFailure } from "../ports/store.ts";
import { toFence, aHolder } from "@holdfast/testing/fixtures/factories";
import { compactionLockCases } from "@holdfast/testing/conformance/compaction-lock";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { createCompactionLock } from "./compaction-lock.ts";

describe.each([referenceHarness])("the compaction lock on the $name store", ({ open }) => {
  test.each(compactionLockCases)("$title", async ({ run }) => {
    const harness = await open();
    try {
      await run(harness);
    } finally {
      await harness.close();
    }
    expect.assertions(0);
  });
});

test("of two that replace the same dead holder, one wins", async () => {
  const harness = await referenceHarness.open();
  const { session } = await openTestSession(harness.store);
  const gone = aHolder();
  const liveness = {
    isDead: ({ nonce }: { nonce: string }) => (nonce === gone.nonce ? "dead" : "unknown"),
  } as const;
  const lock = createCompactionLock(harness.store.leases, { liveness });
  await lock.acquire(session, gone);
  const won = await Promise.all([
    lock.acquire(session, aHolder()),
    lock.acquire(session, aHolder()),
  ]);
  expect(won.filter((held) => held !== null)).toHaveLength(1);
  await harness.close();
});

describe("a compaction lock's heartbeat", () => {
  const failed: Failed = { status: "failed", code: "store_unavailable", message: "away" };
  const renewed: RenewResult = { status: "renewed", lost: [] };
  const session = ids.make("session");
  const ref: LeaseRef = { kind: "compaction", session, fence: toFence(3) };

  function keepWith(renew: () => Promise<RenewResult>) {
    const clock = manualClock();
    const leases = { renew } as unknown as Leases;
    const lock = createCompactionLock(leases, { ttlMs: 900, clock });
    const heartbeat = lock.keep({ session, fence: ref.fence, safeUntil: 900 });
    return { clock, heartbeat };
  }

  test("renews three times per lock lifetime, and never after it is stopped", async () => {
    let renewals = 0;
    const { clock, heartbeat } = keepWith(async () => {
      renewals += 1;
      return renewed;
    });
    for (let step = 0; step < 6; step += 1) await clock.advance(300);
    expect(renewals).toBe(6);
    expect(heartbeat.lost.aborted).toBe(false);
    await heartbeat.stop();
    await clock.advance(3_000);
    expect(renewals).toBe(6);
  });

  test("reports at once when the store says that the lock is lost", async () => {
    const { clock, heartbeat } = keepWith(async () => ({ status: "renewed", lost: [ref] }));
    await clock.advance(300);
    expect(heartbeat.lost.aborted).toBe(true);
    await heartbeat.stop();
  });

  test("outlasts a short store outage, and gives up by its own clock before the expiry", async () => {
    let isAway = true;
    const { clock, heartbeat } = keepWith(async () => (isAway ? failed : renewed));
    for (let step = 0; step < 7; step += 1) await clock.advance(100);
    isAway = false;
    await clock.advance(100);
    isAway = true;
    // Renewed at 800 ms, for 900 ms more.
    for (let step = 0; step < 8; step += 1) await clock.advance(100);
    await clock.advance(99);
    expect(heartbeat.lost.aborted).toBe(false);
    await clock.advance(1);
    expect(heartbeat.lost.aborted).toBe(true);
    await heartbeat.stop();
  });

  test("treats a renewal that throws as failed and continues", async () => {
    let renewals = 0;
    const { clock, heartbeat } = keepWith(async () => {
      renewals += 1;
      if (renewals === 1) throw new Error("a bug");
      return renewed;
    });
    for (let step = 0; step < 12; step += 1) await clock.advance(100);
    expect([heartbeat.lost.aborted, renewals]).toEqual([false, 4]);
    await heartbeat.stop();
  });

  test("treats an answer that never comes as a loss when time is up", async () => {
    const { clock, heartbeat } = keepWith(() => new Promise(() => undefined));
    await clock.advance(300);
    expect(heartbeat.lost.aborted).toBe(false);
    await clock.advance(600);
    expect(heartbeat.lost.aborted).toBe(true);
    await heartbeat.stop();
  });
});

test("a store that cannot answer yields neither a yes nor a no", async () => {
  const harness = await referenceHarness.open();
  const { session } = await openTestSession(harness.store);
  await harness.close();
  const lock = createCompactionLock(harness.store.leases);
  await expect(lock.acquire(session, aHolder())).rejects.toBeInstanceOf(StoreFailure);
  await expect(lock.holder(session)).rejects.toBeInstanceOf(StoreFailure);
});
