import { size, type SizesOf } from "../harness/sizes.ts";

export type Sizes = SizesOf<typeof sizeTable>;

export const sizeTable = {
  messages: size(10_000, 50),
  streamMs: size(20_000, 1_000),
  turns: size(1_000, 5),
  manyMessages: size(100_000, 300),
  manySessions: size(100_000, 50),
  scrollMs: size(15_000, 500),
};
