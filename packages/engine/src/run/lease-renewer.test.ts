import { ids } from "@holdfast/protocol";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { aHolder, toFence } from "@holdfast/testing/fixtures/factories";
import { expect, test } from "vitest";

import type { Leases, RenewResult } from "../ports/lease.ts";
import { type HeldLease, LeaseRenewer } from "./lease-renewer.ts";

const leaseMs = 30_000;
const lease = {
  kind: "run",
  session: ids.make("session"),
  fence: toFence(1),
  holder: aHolder(),
  expiresAt: leaseMs,
} as const;

/** Holds a 30 s lease on a store that is unavailable during these times, by the clock that the test advances. */
async function holdDuring(
  away: (now: number) => boolean,
  answer: () => Promise<RenewResult>,
  untilMs: number,
): Promise<{ held: HeldLease; lostAt: number | null; renewals: readonly number[] }> {
  const clock = manualClock();
  const renewals: number[] = [];
  const renew = async (): Promise<RenewResult> => {
    if (away(clock.now())) return answer();
    renewals.push(clock.now());
    return { status: "renewed", lost: [] };
  };
  const leases = { renew, release: async () => ({ status: "released" }) } as unknown as Leases;
  const renewer = new LeaseRenewer(leases, clock, leaseMs);
  const held = renewer.hold(lease, clock.now());
  let lostAt: number | null = null;
  while (clock.now() < untilMs) {
    await clock.advance(100);
    if (held.lost) lostAt ??= clock.now();
  }
  await renewer.release(held);
  return { held, lostAt, renewals };
}

const failed: RenewResult = { status: "failed", code: "store_unavailable", message: "away" };

test.each([
  ["fails", async () => failed],
  ["throws", () => Promise.reject(new Error("away"))],
  ["does not answer", () => new Promise<RenewResult>(() => undefined)],
])("a lease of 30 s outlasts a store that %s for 7 s, whenever that begins", async (_, answer) => {
  for (let from = 8_000; from < 20_000; from += 1_000) {
    const isAway = (now: number) => now >= from && now < from + 7_000;
    const { lostAt } = await holdDuring(isAway, answer, 60_000);
    expect([from, lostAt]).toEqual([from, null]);
  }
});

test("a lease is renewed right after an outage, and then at its usual interval", async () => {
  const isAway = (now: number) => now >= 9_000 && now < 15_000;
  const { renewals } = await holdDuring(isAway, async () => failed, 40_000);
  expect(renewals[0]).toBeLessThanOrEqual(15_000 + leaseMs / 60 + 100);
  expect(renewals.slice(1).map((at, index) => at - (renewals[index] ?? 0))).toEqual([
    10_000, 10_000,
  ]);
});

test("a lease that cannot be renewed is given up a third of its time before it expires", async () => {
  const { lostAt } = await holdDuring(
    () => true,
    async () => failed,
    40_000,
  );
  expect(lostAt).toBeGreaterThanOrEqual(20_000);
  expect(lostAt).toBeLessThanOrEqual(20_000 + leaseMs / 60);
});

test("a lease counts from when it was asked for, however late the answer came", async () => {
  const clock = manualClock();
  const leases = {
    renew: async () => failed,
    release: async () => ({ status: "released" }),
  } as unknown as Leases;
  const renewer = new LeaseRenewer(leases, clock, leaseMs);
  const askedAt = clock.now();
  await clock.advance(6_000);
  const held = renewer.hold(lease, askedAt);
  while (!held.lost && clock.now() < 40_000) await clock.advance(100);
  expect(clock.now()).toBeLessThanOrEqual(20_000 + leaseMs / 60);
  await renewer.release(held);
});

test("[P3] a renewal that was under way when the fence was raised does not give up the lease", async () => {
  const clock = manualClock();
  const answer = Promise.withResolvers<RenewResult>();
  const raised = { ...lease, fence: toFence(2) };
  const leases = {
    renew: () => answer.promise,
    acquire: async () => ({ status: "acquired", lease: raised }),
    release: async () => ({ status: "released" }),
  } as unknown as Leases;
  const renewer = new LeaseRenewer(leases, clock, leaseMs);
  const held = renewer.hold(lease, clock.now());
  await clock.advance(leaseMs / 3);
  await renewer.raiseFence(held, aHolder());
  const { kind, session, fence } = lease;
  answer.resolve({ status: "renewed", lost: [{ kind, session, fence }] });
  await clock.advance(100);
  expect([held.lost, held.lease.fence]).toEqual([false, raised.fence]);
  await renewer.release(held);
});
