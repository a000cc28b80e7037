import type { Browser } from "playwright-core";
import { size, type SizesOf } from "../harness/sizes.ts";
import type { SessionId } from "@holdfast/protocol";
import type { BenchDatabase } from "../store/bench-database.ts";

export type Sizes = SizesOf<typeof sizeTable>;

export const sizeTable = {
  messages: size(10_000, 50),
  streamMs: size(20_000, 1_000),
  turns: size(1_000, 5),
  manyMessages: size(100_000, 300),
  manySessions: size(100_000, 50),
  scrollMs: size(15_000, 500),
  typedMessages: size(500, 50),
  keys: size(400, 20),
  typedScrollMs: size(10_000, 500),
  firstLoads: size(9, 1),
};

export interface Bench {
  readonly sizes: Sizes;
  readonly browser: Browser;
  /** A store with one session of this many messages, of the host's owner. */
  readonly prepareMessages: (count: number) => Promise<PreparedSession>;
  /** A store with this many sessions of that owner. */
  readonly prepareSessions: (count: number) => Promise<PreparedSession>;
}

export interface PreparedSession {
  readonly place: BenchDatabase;
  /** The long one, or one of the many. */
  readonly session: SessionId;
}
