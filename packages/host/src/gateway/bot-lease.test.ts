import type { Register } from "@holdfast/engine";
import { anOwner, aHolder } from "@holdfast/testing/fixtures/factories";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, test } from "vitest";

import { withBotLease } from "./bot-lease.ts";

const leaseMs = 3_000;

/** A host that holds the bot's lease, on a store whose writes can be made to fail. */
async function holdBot() {
  const clock = manualClock();
  const { register } = createReferenceStore();
  const writes = { areLost: false };
  const put: Register["put"] = async (change) =>
    writes.areLost
      ? { status: "failed", code: "store_unavailable", message: "away" }
      : register.put(change);
  const held: AbortSignal[] = [];
  const stopping = new AbortController();
  const running = withBotLease(
    {
      store: { register: { ...register, put }, now: async () => clock.now() },
      clock,
      holder: () => aHolder(),
      liveness: { isDead: () => "unknown" },
      leaseMs,
      owner: anOwner(),
      bot: "telegram:1",
      onHeld: () => {},
    },
    stopping.signal,
    (signal) => {
      held.push(signal);
      return new Promise((resolve) =>
        signal.addEventListener("abort", () => resolve(), { once: true }),
      );
    },
  );
  await expect.poll(() => held.length).toBe(1);
  const wait = async (ms: number): Promise<void> => {
    for (let waited = 0; waited < ms; waited += 250) await clock.advance(250);
  };
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running;
  };
  return { writes, wait, stop, isHeld: () => held[0]?.aborted === false };
}

test("a host keeps its bot for as long as it renews the lease", async () => {
  const { wait, isHeld, stop } = await holdBot();
  await wait(10 * leaseMs);
  expect(isHeld()).toBe(true);
  await stop();
});

test("[P11] a host whose renewals get no answer stops before its lease may have expired", async () => {
  const { writes, wait, isHeld, stop } = await holdBot();
  await wait(leaseMs);
  writes.areLost = true;
  await wait(leaseMs);
  expect(isHeld()).toBe(false);
  await stop();
});

test("a host keeps its bot through a store outage shorter than the lease", async () => {
  const { writes, wait, isHeld, stop } = await holdBot();
  await wait(leaseMs);
  writes.areLost = true;
  await wait(leaseMs / 2);
  writes.areLost = false;
  await wait(10 * leaseMs);
  expect(isHeld()).toBe(true);
  await stop();
});
