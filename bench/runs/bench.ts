import { type MeasurePace } from "../harness/interleave.ts";
import { size, type SizesOf } from "../harness/sizes.ts";
import type { BackendBench } from "../store/backends.ts";

export type Sizes = SizesOf<typeof sizeTable>;

export const sizeTable = {
  pace: size<MeasurePace>({ rounds: 40, budgetMs: 15_000 }, { rounds: 3, budgetMs: 500 }),
  /** Live runs, from one to many. */
  liveRuns: size([1, 200, 1_000], [1, 20]),
  /** Before anything is counted: caches and compilers warm up. */
  warmMs: size(4_000, 200),
  streamMs: size(10_000, 500),
  recovered: size(100, 5),
  longJournal: size(100_000, 2_000),
  watchers: size(1_000, 20),
  fanOutMs: size(8_000, 500),
  idleSessions: size(2_000, 50),
  heldRuns: size(300, 10),
};

export type Bench = BackendBench<Sizes>;
