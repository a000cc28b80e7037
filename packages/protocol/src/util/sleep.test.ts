import { getEventListeners } from "node:events";
import process from "node:process";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";

import { sleep } from "./timing.ts";

const timers = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;

test("shorter sleeps end first", async () => {
  const ended: number[] = [];
  await Promise.all([30, 10, 20].map((ms) => sleep(ms).then(() => ended.push(ms))));
  expect(ended).toEqual([10, 20, 30]);
});

test("a sleep with an aborted signal ends at once, without a timer", async () => {
  const before = timers();
  const slept = sleep(60_000, AbortSignal.abort());
  expect(timers()).toBe(before);
  await slept;
});

test("a sleep ends when its signal is aborted, and clears its timer", async () => {
  const leaving = new AbortController();
  const before = timers();
  const slept = sleep(60_000, leaving.signal);
  expect(timers()).toBe(before + 1);
  leaving.abort();
  await slept;
  expect(timers()).toBe(before);
});

test("a finished sleep no longer listens to its signal", async () => {
  const { signal } = new AbortController();
  await sleep(0, signal);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("a sleep whose time has already passed ends at once, without a warning", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on("warning", note);
  await sleep(-1);
  await nextTurn();
  process.off("warning", note);
  expect(warnings).toEqual([]);
});

test.each([2 ** 31, Number.POSITIVE_INFINITY])(
  "a sleep of %d ms, longer than a timer can count, does not end at once",
  async (ms) => {
    const leaving = new AbortController();
    const first = await Promise.race([
      sleep(ms, leaving.signal).then(() => "over"),
      sleep(50).then(() => "waiting"),
    ]);
    leaving.abort();
    expect(first).toBe("waiting");
  },
);
