import process from "node:process";
import { expect, test } from "vitest";

import { systemClock } from "./clock.ts";

test("a sleep whose time has already passed ends at once, without a warning", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on("warning", note);
  await systemClock.sleep(-1);
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", note);
  expect(warnings).toEqual([]);
});

test.each([2 ** 31, Number.POSITIVE_INFINITY])(
  "a sleep of %d ms, longer than a timer can count, does not end at once",
  async (ms) => {
    const leaving = new AbortController();
    const first = await Promise.race([
      systemClock.sleep(ms, leaving.signal).then(() => "over"),
      systemClock.sleep(50).then(() => "waiting"),
    ]);
    leaving.abort();
    expect(first).toBe("waiting");
  },
);
