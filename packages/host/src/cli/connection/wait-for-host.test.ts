import type { Client } from "@holdfast/client";
import { expect, onTestFinished, test } from "vitest";
import { watchForStall } from "./wait-for-host.ts";

/** A host that says how it is, as often as it is asked. */
function listen(isWaiting: () => boolean = () => true) {
  const host = { reasons: [] as string[], asked: 0 };
  const told: string[] = [];
  const health: Client["health"] = async () => {
    host.asked += 1;
    const value = { status: "degraded", version: "1", reasons: host.reasons };
    return { ok: true, value };
  };
  const silence = watchForStall({
    client: { health },
    onReasons: (reasons) => told.push(reasons),
    isWaiting,
    everyMs: 1,
  });
  onTestFinished(() => silence.stop());
  return { host, told, silence };
}

test("who waits and hears nothing is told why, once, and when it is over", async () => {
  const { host, told, silence } = listen();
  await expect.poll(() => host.asked).toBeGreaterThan(2);
  expect(told).toEqual([]);
  host.reasons = ["The store's disk is full: make room."];
  await expect.poll(() => told).toEqual(["The store's disk is full: make room."]);
  const { asked } = host;
  await expect.poll(() => host.asked).toBeGreaterThan(asked + 2);
  expect(told).toHaveLength(1);
  silence.reset();
  expect(told).toEqual(["The store's disk is full: make room.", ""]);
});

test("a host that nothing is expected of is left alone, and nobody asks after the end", async () => {
  let looks = 0;
  const { host, silence } = listen(() => (looks += 1) < 0);
  await expect.poll(() => looks).toBeGreaterThan(2);
  expect(host.asked).toBe(0);
  silence.stop();
  const last = looks;
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(looks).toBe(last);
});
