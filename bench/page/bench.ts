import type { SessionId } from "@holdfast/protocol";
import type { Browser } from "playwright-core";

import type { BenchDatabase } from "../store/bench-database.ts";
import type { Sizes } from "./sizes.ts";

export interface Bench {
  readonly sizes: Sizes;
  readonly browser: Browser;
  /** A store with one session of so many messages, of the person that the host serves. */
  readonly prepareMessages: (count: number) => Promise<PreparedSession>;
  /** A store with so many sessions of that person. */
  readonly prepareSessions: (count: number) => Promise<PreparedSession>;
}

export interface PreparedSession {
  readonly place: BenchDatabase;
  /** The long one, or one of the many. */
  readonly session: SessionId;
}
