import { expect, test } from "vitest";

import { runNodesChaos } from "./run.ts";

test("[P1] [P3] [P4] [P5] [P7] [P11] three machines behind a proxy keep every promise while they are killed, frozen and cut off and PostgreSQL fails over", async () => {
  const { figures, problems } = await runNodesChaos({
    // Each kind of fault, once.
    minutes: 0,
    seed: 20_261_119,
    clients: 1,
    sessions: 2,
  });
  expect(problems).toEqual([]);
  expect(figures["faults injected"]).toBe(7);
  expect(figures["messages of the page"]).toBeGreaterThan(0);
  expect(figures["events shown to followers"]).toBeGreaterThan(50);
}, 400_000);
