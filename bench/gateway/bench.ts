import { size, type SizesOf } from "../harness/sizes.ts";
import type { BenchDatabase } from "../store/bench-database.ts";

export type Sizes = SizesOf<typeof sizeTable>;

export const sizeTable = {
  updates: size(300, 20),
  chats: size(200, 5),
  /** Of each answer, at twenty a second. */
  words: size(400, 60),
};

export interface Bench {
  readonly sizes: Sizes;
  /** A store without sessions. */
  readonly prepare: () => Promise<BenchDatabase>;
}
