import * as fc from "fast-check";

import type { StoreHarness } from "../conformance/harness.ts";
import { Program } from "./program.ts";
import { programs } from "./steps.ts";

export interface ProgramOptions {
  readonly runs: number;
  /** The most steps in one program. */
  readonly steps: number;
  /** The seed that a failure named, to reproduce it. */
  readonly seed?: number;
}

/**
 * Runs random programs on the store and on a simple model of it, and compares everything visible after each step.
 * Throws the shortest program that shows a difference.
 */
export async function checkStorePrograms(
  harness: StoreHarness,
  { runs, steps, seed }: ProgramOptions,
): Promise<void> {
  const other = await harness.open();
  try {
    await fc.assert(
      fc.asyncProperty(programs(steps), (program) => new Program(harness, other).run(program)),
      { numRuns: runs, ...(seed !== undefined && { seed }) },
    );
  } finally {
    await other.close();
  }
}
