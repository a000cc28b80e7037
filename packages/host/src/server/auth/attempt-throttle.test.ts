import { expect, test } from "vitest";
import { createAttemptThrottle, createSlowLane } from "./attempt-throttle.ts";

function counting() {
  const clock = { now: 1_000 };
  const attempts = createAttemptThrottle(() => clock.now);
  return { clock, attempts };
}

const tries = (
  attempts: ReturnType<typeof createAttemptThrottle>,
  address: string,
  count: number,
) => Array.from({ length: count }, () => attempts.take(address));

test("five attempts are free, and then each wait doubles", () => {
  const { clock, attempts } = counting();
  expect(tries(attempts, "192.0.2.1", 6)).toEqual([0, 0, 0, 0, 0, 1_000]);
  clock.now += 1_000;
  expect(tries(attempts, "192.0.2.1", 2)).toEqual([0, 2_000]);
  clock.now += 1_999;
  expect(attempts.take("192.0.2.1")).toBe(1);
});

test("concurrent attempts count like sequential ones, and no wait exceeds five minutes", () => {
  const { clock, attempts } = counting();
  expect(tries(attempts, "192.0.2.1", 100).filter((wait) => wait === 0)).toHaveLength(5);
  for (let more = 0; more < 30; more += 1) {
    clock.now += 5 * 60_000;
    expect(attempts.take("192.0.2.1")).toBe(0);
  }
  expect(attempts.take("192.0.2.1")).toBe(5 * 60_000);
});

test("other addresses do not wait, and a valid proof ends the wait", () => {
  const { attempts } = counting();
  tries(attempts, "192.0.2.1", 9);
  expect(attempts.take("192.0.2.2")).toBe(0);
  attempts.reset("192.0.2.1");
  expect(attempts.take("192.0.2.1")).toBe(0);
});

test("half an hour without attempts resets the count", () => {
  const { clock, attempts } = counting();
  tries(attempts, "192.0.2.1", 9);
  clock.now += 30 * 60_000;
  expect(tries(attempts, "192.0.2.1", 5)).toEqual([0, 0, 0, 0, 0]);
});

test.each([
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::9"],
  ["2001:0db8::1", "2001:DB8:0:0:ffff::"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
])("%s and %s are counted as one client", (one, other) => {
  const { attempts } = counting();
  tries(attempts, one, 9);
  expect(attempts.take(other)).toBeGreaterThan(0);
});

test("separate networks are counted separately", () => {
  const { attempts } = counting();
  tries(attempts, "2001:db8:1:2::1", 9);
  expect(attempts.take("2001:db8:1:3::1")).toBe(0);
});

test("four attempts of a network wait in the slow lane, and others do not wait for them", async () => {
  const gates: (() => void)[] = [];
  const lane = createSlowLane(() => new Promise((resolve) => void gates.push(resolve)));
  const entered = Array.from({ length: 4 }, () => lane.enter("192.0.2.1"));
  expect(await lane.enter("192.0.2.1")).toBe("full");
  const other = lane.enter("192.0.2.2");
  for (const open of gates) open();
  expect(await Promise.all([...entered, other])).toEqual(Array(5).fill("go"));
  void lane.enter("192.0.2.1");
  expect(gates).toHaveLength(6);
});
