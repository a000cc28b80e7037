import { expect, test } from "vitest";

import { runStoreChaos } from "./store.ts";

test("[P1] processes that are killed and paused at random lose nothing that was acknowledged, and write nothing twice", async () => {
  const { figures, problems } = await runStoreChaos({
    backend: "sqlite",
    kills: 12,
    seed: 20_260_101,
  });
  expect(problems).toEqual([]);
  expect(figures["kill -9"]).toBeGreaterThanOrEqual(12);
  expect(figures["commits acknowledged"]).toBeGreaterThan(50);
}, 90_000);
