import { size, type SizesOf } from "../harness/sizes.ts";
import type { BenchDatabase } from "../store/bench-database.ts";

export type Sizes = SizesOf<typeof sizeTable>;

export const sizeTable = {
  sessions: size(100_000, 50),
  starts: size(7, 2),
  /** How long a host that was just started is left alone before it is weighed. */
  restMs: size(3_000, 50),
  clients: size(16, 4),
  /** Pages of the list that are asked for in turn, with the sessions on them. */
  pages: size(400, 4),
  requestMs: size(5_000, 200),
  idleStreams: size(5_000, 20),
  liveRuns: size(200, 3),
  streamMs: size(10_000, 500),
};

export interface Bench {
  readonly sizes: Sizes;
  /** A store with many sessions of the person that the host serves. */
  readonly prepare: () => Promise<BenchDatabase>;
}
