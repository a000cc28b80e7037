import { type MeasurePace } from "../harness/interleave.ts";
import { size, type SizesOf } from "../harness/sizes.ts";
import type { BackendBench } from "../store/backends.ts";

export type Sizes = SizesOf<typeof sizeTable>;

export const sizeTable = {
  pace: size<MeasurePace>({ rounds: 40, budgetMs: 12_000 }, { rounds: 3, budgetMs: 500 }),
  /**
   * Entries in a session, of which `live` are not covered by its summary. The first is the reference for the others.
   */
  entries: size([1_000, 100, 10_000, 100_000], [100, 400]),
  live: size(50, 20),
  /** Entries in the session that is compacted while somebody else writes. */
  compacted: size(10_000, 200),
  /** Sessions with something to remember. */
  remembering: size(300, 10),
  dayTurns: size(500, 40),
};

export type Bench = BackendBench<Sizes>;
