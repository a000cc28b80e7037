import type { BenchDatabase } from "../store/bench-database.ts";
import type { Sizes } from "./sizes.ts";

export interface Bench {
  readonly sizes: Sizes;
  /** A store without a session. */
  readonly prepare: () => Promise<BenchDatabase>;
}
