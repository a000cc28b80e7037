import { forgottenSpill, plantedBugs } from "@holdfast/testing/simulator/planted-bugs";
import { simulate } from "@holdfast/testing/simulator/simulate";
import { describe, expect, test } from "vitest";

import { openReferenceStore, runSimulations, describeFailure } from "./run.ts";

describe("the simulator", () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "seed %i is the same run each time, byte for byte",
    async (seed) => {
      const [first, second] = [
        await simulate(seed, { openStore: openReferenceStore }),
        await simulate(seed, { openStore: openReferenceStore }),
      ];
      expect(first.trace()).not.toEqual([]);
      expect(second.trace().join("\n")).toBe(first.trace().join("\n"));
    },
  );

  test("[P3] the simulator catches a missing fence check", async () => {
    const nemesis = { crash: 0, pause: 1, outage: 0, clock: 0, poke: 0.1 };
    const { failed } = await runSimulations({
      from: 1,
      seeds: 200,
      // Hosts that sleep past their leases, and write when they wake up.
      profile: { hosts: 3, leaseMs: 1_500, proof: 0, spills: false, nemesisMs: 300, nemesis },
      plant: plantedBugs.missingFenceCheck,
      promise: "P3",
    });
    expect(failed?.problems.map((problem) => problem.promise)).toContain("P3");
  });

  test.each([
    ["[P1] the simulator catches an early acknowledgement", "earlyAcknowledgement", "P1"],
    ["[P4] the simulator catches a double settle", "doubleSettle", "P8"],
    ["[P5] the simulator catches a lost wake of readers", "lostWake", "liveness"],
    ["[P4] the simulator catches a lost wake of runners", "blindSweep", "liveness"],
  ] as const)("%s", async (_title, bug, promise) => {
    const plant = plantedBugs[bug];
    const { failed } = await runSimulations({ from: 1, seeds: 200, plant, promise });
    expect(failed?.problems.map((problem) => problem.promise)).toContain(promise);
  });

  test("[P5] the simulator catches a forgotten spill", async () => {
    const nemesis = { crash: 0.2, pause: 0, outage: 1, clock: 0, poke: 0 };
    const profile = {
      mode: "liveness",
      spills: true,
      diskFull: 0,
      nemesisMs: 500,
      nemesis,
    } as const;
    const honest = await runSimulations({ from: 1, seeds: 20, profile });
    expect(honest.failed && describeFailure(honest.failed)).toBeNull();
    const { failed } = await runSimulations({
      from: 1,
      seeds: 200,
      profile,
      plantJournals: forgottenSpill,
    });
    expect(failed?.problems.map((problem) => problem.promise)).toContain("spill");
  });
});
