import { expect, test } from "vitest";

import { runProcessChaos } from "./run.ts";

test("[P1] [P2] [P3] [P4] [P5] [P6] [P7] [P8] runners and a host on one PostgreSQL keep every promise while they are killed and stopped and the database goes down", async () => {
  const { figures, problems } = await runProcessChaos({
    backend: "postgres",
    kills: 3,
    seed: 20_261_102,
    clients: 2,
    sessions: 2,
  });
  expect(problems).toEqual([]);
  expect(figures["kill -9"]).toBeGreaterThanOrEqual(3);
  expect(figures["database restarts and crashes"]).toBeGreaterThanOrEqual(3);
  expect(figures["inputs acknowledged"]).toBeGreaterThan(5);
  expect(figures["events shown to followers"]).toBeGreaterThan(50);
}, 240_000);
