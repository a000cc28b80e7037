import { StoreFailure } from "@holdfast/engine";
import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { expect, onTestFinished, test } from "vitest";

import { fileLimitWarning } from "./process-limits.ts";
import { createOutageReporter } from "./store-health.ts";

function watching() {
  const clock = manualClock();
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const store = { isAway: false };
  const warnings: string[] = [];
  const bugs: Error[] = [];
  const warn = (message: string): void => void warnings.push(message);
  const logger = {
    debug: warn,
    info: warn,
    warn,
    error: warn,
    report: (bug: Error) => void bugs.push(bug),
    flush: async () => undefined,
  };
  return {
    report: createOutageReporter({
      isHealthy: async () => !store.isAway,
      clock,
      logger,
      stopping: stopping.signal,
    }),
    clock,
    store,
    warnings,
    bugs,
  };
}

test("an outage is logged once, and its end once, however often the store is read", async () => {
  const { report, clock, store, warnings, bugs } = watching();
  for (const _ of [1, 2]) {
    store.isAway = true;
    for (let count = 0; count < 50; count += 1)
      report(new StoreFailure("store_unavailable", "no route"));
    await nextTurn();
    await clock.advance(5_000);
    store.isAway = false;
    await clock.advance(2_000);
    await nextTurn();
  }
  expect(warnings.map((line) => line.slice(0, 25))).toEqual([
    "The store does not answer",
    "The store answers again.",
    "The store does not answer",
    "The store answers again.",
  ]);
  expect(bugs).toEqual([]);
});

test("a bug is logged every time, also during an outage", () => {
  const { report, warnings, bugs } = watching();
  report(new StoreFailure("store_unavailable", "gone"));
  report(new Error("a bug"));
  report(new Error("a bug"));
  expect([warnings.length, bugs.length]).toEqual([1, 2]);
});

test("a low file limit gives a warning, and a sufficient one does not", () => {
  const limits = (soft: string) =>
    `Max processes 1 2\nMax open files            ${soft}       4096   files\n`;
  expect(fileLimitWarning(limits("1024"))).toMatch(/^Only 1024 files may be open at once/);
  expect(fileLimitWarning(limits("65536"))).toBeUndefined();
  expect(fileLimitWarning(limits("unlimited"))).toBeUndefined();
});
