import type { Bound, Line } from "../harness/figures.ts";
import type { Baselines } from "../baselines/find-baselines.ts";
import type { Corpus } from "./corpus.ts";
import type { Backend } from "./bench-database.ts";
import type { Sizes } from "./sizes.ts";

/** What every workload is given. */
export interface Bench {
  readonly backend: Backend;
  readonly corpus: Corpus;
  readonly sizes: Sizes;
  readonly baselines: Baselines;
}

/** How often a line's figure may be the other's, as a bound. */
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
