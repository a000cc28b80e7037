import type { Client } from "@holdfast/client";
import { expect, onTestFinished, test } from "vitest";
import { watchForStall } from "./wait-for-host.ts";

/** A host that reports its health and counts how often it is asked. */
function openWatch(isWaiting: () => boolean = () => true) {
  const host = { reasons: [] as string[], asked: 0 };
  const reported: string[] = [];
  const health: Client["health"] = async () => {
    host.asked += 1;
    const value = { status: "degraded", version: "1", reasons: host.reasons };
    return { ok: true, value };
  };
  const watch = watchForStall({
    client: { health },
    onReasons: (reasons) => reported.push(reasons),
    isWaiting,
    everyMs: 1,
  });
  onTestFinished(() => watch.stop());
  return { host, reported, watch };
}

test("a stall is reported once with its reasons, and once when it is over", async () => {
  const { host, reported, watch } = openWatch();
  await expect.poll(() => host.asked).toBeGreaterThan(2);
  expect(reported).toEqual([]);
  host.reasons = ["The store's disk is full: make room."];
  await expect.poll(() => reported).toEqual(["The store's disk is full: make room."]);
  const { asked } = host;
  await expect.poll(() => host.asked).toBeGreaterThan(asked + 2);
  expect(reported).toHaveLength(1);
  watch.reset();
  expect(reported).toEqual(["The store's disk is full: make room.", ""]);
});

test("a host is not asked while nothing is expected, nor after stop", async () => {
  let checks = 0;
  const { host, watch } = openWatch(() => (checks += 1) < 0);
  await expect.poll(() => checks).toBeGreaterThan(2);
  expect(host.asked).toBe(0);
  watch.stop();
  const last = checks;
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(checks).toBe(last);
});
