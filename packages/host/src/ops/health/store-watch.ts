import { type Clock, type FailureCode, StoreFailure } from "@holdfast/engine";

import type { Logger } from "../telemetry/telemetry-logger.ts";

/** What a store says while it is away. Whatever else goes wrong is told as it is. */
const outageCodes: ReadonlySet<FailureCode> = new Set([
  "store_unavailable",
  "store_busy",
  "store_unknown",
  "store_full",
  "store_unwritable",
]);

/** Of those, what still lets everything be read. */
const readOnlyCodes: ReadonlySet<FailureCode> = new Set(["store_full", "store_unwritable"]);

const pollMs = 1_000;

export interface OutageReporterDeps {
  /** Whether it can be read, and written. */
  readonly isHealthy: () => Promise<boolean>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stopping: AbortSignal;
}

/**
 * Reports what goes wrong; of a store that has gone, one line when it goes and one when it is back, however many had asked it
 * meanwhile.
 */
export function createOutageReporter({
  isHealthy: isWell,
  clock,
  logger,
  stopping,
}: OutageReporterDeps): (bug: Error) => void {
  let isAway = false;

  async function untilBack(): Promise<void> {
    const since = clock.now();
    while (!stopping.aborted) {
      await clock.sleep(pollMs, stopping);
      if (!(await isWell())) continue;
      isAway = false;
      logger.warn("The store answers again.", {
        seconds: Math.round((clock.now() - since) / 1000),
      });
      return;
    }
  }

  return (bug) => {
    if (!(bug instanceof StoreFailure) || !outageCodes.has(bug.code)) return logger.report(bug);
    if (isAway || stopping.aborted) return;
    isAway = true;
    logger.warn(
      readOnlyCodes.has(bug.code)
        ? "The store takes no writes. What it holds can be read; runs wait."
        : "The store does not answer. Runs go on where they can, and wait where they cannot.",
      {
        code: bug.code,
        reason: bug.message,
      },
    );
    void untilBack();
  };
}
