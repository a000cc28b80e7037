import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, test } from "vitest";

import { createLifecycle, pruneRegularly } from "./lifecycle.ts";
import { reportOnly } from "./ops/telemetry/logger.ts";

test("what has accumulated is deleted in batches, and a look that finds nothing waits for the next", async () => {
  const left = [500, 500, 7, 0];
  const asked: number[] = [];
  const store = {
    ...createReferenceStore(),
    prune: async (limit: number) => {
      asked.push(limit);
      return { status: "pruned", rows: left.shift() ?? 0 } as const;
    },
  };
  const clock = manualClock();
  const stop = new AbortController();
  const done = pruneRegularly(store, clock, stop.signal);
  await nextTurn();
  expect(asked).toHaveLength(0);
  for (const [ms, batches] of [
    [60_000, 1],
    [50, 2],
    [50, 3],
    [50, 3],
    [60_000, 4],
  ] as const) {
    await clock.advance(ms);
    expect(asked).toHaveLength(batches);
  }
  stop.abort();
  await done;
});

test("a stopped host has finished what it was still writing in its home", async () => {
  const trial = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const store = { ...createReferenceStore(), close: async () => closed.resolve() };
  const idle = { start: () => undefined, stop: async () => undefined };
  const lifecycle = createLifecycle({
    store,
    roles: new Set(),
    gateways: idle,
    mcp: idle,
    engine: idle,
    workers: [],
    sandboxTrial: trial.promise,
    telemetry: undefined,
    logger: reportOnly(() => undefined),
    stopping: new AbortController(),
    closing: new AbortController(),
  });
  const events: string[] = [];
  const stopped = lifecycle.stop().then(() => events.push("stopped"));
  await closed.promise;
  await nextTurn();
  events.push("trial over");
  trial.resolve();
  await stopped;
  expect(events).toEqual(["trial over", "stopped"]);
});
