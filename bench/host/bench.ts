import { size, type SizesOf } from "../harness/sizes.ts";
import type { BenchDatabase } from "../store/bench-database.ts";

export type Sizes = SizesOf<typeof sizeTable>;

export const sizeTable = {
  sessions: size(100_000, 50),
  starts: size(7, 2),
  /** How long a freshly started host is left alone before its memory is measured. */
  restMs: size(3_000, 50),
  clients: size(16, 4),
  /** Pages of the list that are requested in turn, with their sessions. */
  pages: size(400, 4),
  /** For each system, divided among its turns. */
  requestMs: size(9_000, 200),
  turns: size(5, 1),
  idleStreams: size(5_000, 20),
  liveRuns: size(200, 3),
  streamMs: size(10_000, 500),
};

export interface Bench {
  readonly sizes: Sizes;
  /** A store with many sessions of the host's owner. */
  readonly prepare: () => Promise<BenchDatabase>;
}
