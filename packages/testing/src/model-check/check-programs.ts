import * as fc from "fast-check";

import type { StoreHarness } from "../conformance/harness.ts";
import { Program } from "./program.ts";
import { programs } from "./steps.ts";

export interface ProgramOptions {
  readonly runs: number;
  /** At most, in one program. */
  readonly steps: number;
  /** The one that a failure named, to see it again. */
  readonly seed?: number;
}

/**
 * Runs random programs on the store and on a simple model of it, and compares everything that can be seen after each
 * step. A difference is shrunk to the shortest program that shows it and thrown.
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
