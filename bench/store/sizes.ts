import { type MeasurePace } from "../harness/interleave.ts";
import { size, type SizesOf } from "../harness/sizes.ts";

export type Sizes = SizesOf<typeof sizeTable>;

export const sizeTable = {
  pace: size<MeasurePace>({ rounds: 40, budgetMs: 20_000 }, { rounds: 3, budgetMs: 500 }),
  /** Sessions in a store, from few to many. */
  sessions: size([1_000, 10_000, 100_000], [10, 100]),
  /** Messages in a session to which is written. */
  written: size([10, 1_000, 20_000], [10, 100]),
  /** Messages in a session that is opened. */
  opened: size([100, 10_000, 100_000], [10, 100]),
  searched: size(100_000, 300),
  writers: size([8, 32], [8]),
  processes: size([2, 4], [2]),
  /** How long concurrent writers run in each of their rounds. */
  stretchMs: size(500, 60),
  stretches: size(8, 2),
  streams: size(200, 20),
  streamMs: size(5_000, 300),
};
