import { describe, expect, test } from "vitest";

import { describeFailure, runSimulations } from "./run.ts";

const seedsPerTest = 100;

/** Declares tests that simulate these seeds. Several files share them, so that they run in parallel. */
export function testSeeds(from: number, to: number): void {
  const parts = Array.from({ length: (to - from + 1) / seedsPerTest }, (_, part) => {
    const first = from + part * seedsPerTest;
    return [first, first + seedsPerTest - 1] as const;
  });
  describe("the simulator", () => {
    test.each(parts)(
      "[P4] seeds %i to %i break no promise, and everything ends once faults stop",
      async (first) => {
        const { failed } = await runSimulations({ from: first, seeds: seedsPerTest });
        expect(failed && describeFailure(failed)).toBeNull();
      },
    );
  });
}
