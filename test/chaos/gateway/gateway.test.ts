import { expect, test } from "vitest";

import { runGatewayChaos } from "./run.ts";

test("[P11] a host that is killed or resumes late between update and delivery answers each message once, or marks it as uncertain", async () => {
  const { figures, problems } = await runGatewayChaos({
    kills: 3,
    seed: 20_261_116,
    at: [
      { method: "getUpdates", when: "answered" },
      { method: "sendMessage", when: "after" },
      { method: "editMessageText", when: "before" },
    ],
  });
  expect(problems).toEqual([]);
  expect(figures["paused until another host had taken over"]).toBe(1);
  expect(figures["chunks unknown, each with a mark"]).toBeGreaterThanOrEqual(1);
}, 120_000);
