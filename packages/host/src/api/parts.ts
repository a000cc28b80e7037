import type { Clock, Log, Runner } from "@holdfast/engine";
import type { IdSource } from "@holdfast/protocol";

import type { MountParts } from "./contract.ts";

/** What the handlers work with. */
export interface ApiParts extends MountParts {
  readonly log: Log;
  readonly ids: IdSource;
  readonly runner: Pick<Runner, "poke">;
  readonly clock: Clock;
  /** Aborted when the runner has stopped: there is nothing more to follow. */
  readonly closing: AbortSignal;
}
