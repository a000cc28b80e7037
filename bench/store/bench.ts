import { type MeasurePace } from "../harness/interleave.ts";
import { size, type SizesOf } from "../harness/sizes.ts";
import type { Bound, Line } from "../harness/figures.ts";
import type { Baselines } from "../baselines/find-baselines.ts";
import type { Corpus } from "./corpus.ts";
import type { Backend } from "./bench-database.ts";

export type Sizes = SizesOf<typeof sizeTable>;

export const sizeTable = {
  pace: size<MeasurePace>({ rounds: 40, budgetMs: 20_000 }, { rounds: 3, budgetMs: 500 }),
  /** Sessions in a store, from few to many. */
  sessions: size([1_000, 10_000, 100_000], [10, 100]),
  /** Messages in a session that is written to. */
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

let cursorsGiven = 0;

/**
 * A cursor past the end, different each time: the rows are the same, but the query isn't. A store may cache results
 * while nobody writes; the read is what is timed.
 */
export function uncachedCursor(): number {
  cursorsGiven += 1;
  return Number.MAX_SAFE_INTEGER - cursorsGiven;
}

/** What every workload gets. */
export interface Bench {
  readonly backend: Backend;
  readonly corpus: Corpus;
  readonly sizes: Sizes;
  readonly baselines: Baselines;
}

/** A bound on the ratio of two figures. */
export function atMost(ratio: number, limit: number): Bound {
  return { text: `≤ ${limit}×`, met: ratio <= limit };
}

export function loopLine(loop: { count: number; percentile(percent: number): number }): Line {
  return {
    what: "event-loop delay meanwhile, p99",
    params: { samples: loop.count, resolutionMs: 1 },
    figures: [{ system: "holdfast", value: loop.percentile(99), unit: "ms" }],
  };
}
