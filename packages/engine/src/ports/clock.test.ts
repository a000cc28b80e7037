import process from "node:process";
import { expect, test } from "vitest";

import { systemClock } from "./clock.ts";

test("a wait whose time has passed already is over at once, and complains of nothing", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on("warning", note);
  await systemClock.sleep(-1);
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", note);
  expect(warnings).toEqual([]);
});

test.each([2 ** 31, Number.POSITIVE_INFINITY])(
  "a wait of %d ms, which is more than a timer counts, is not over at once",
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
