import type { BenchDatabase } from "../store/bench-database.ts";
import type { Sizes } from "./sizes.ts";

export interface Bench {
  readonly sizes: Sizes;
  /** A store with many sessions of the person that the host serves. */
  readonly prepare: () => Promise<BenchDatabase>;
}
