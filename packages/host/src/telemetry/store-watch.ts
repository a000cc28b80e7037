import { type Clock, type FailureCode, type Store, StoreFailure } from "@holdfast/engine";

import type { Logger } from "./logger.ts";

/** What a store says while it is away. Whatever else goes wrong is told as it is. */
const away: ReadonlySet<FailureCode> = new Set([
  "store_unavailable",
  "store_busy",
  "store_unknown",
  "store_full",
]);

const lookMs = 1_000;

/**
 * Reports what goes wrong; of a store that has gone, one line when it goes and one when it is back, however many had asked it
 * meanwhile.
 */
export function reportStore(
  store: Pick<Store, "work">,
  clock: Clock,
  logger: Logger,
  stopping: AbortSignal,
): (bug: Error) => void {
  let isAway = false;

  async function untilBack(): Promise<void> {
    const since = clock.now();
    while (!stopping.aborted) {
      await clock.sleep(lookMs, stopping);
      const answers = await store.work.queued(1).then(
        () => true,
        () => false,
      );
      if (!answers) continue;
      isAway = false;
      logger.warn("The store answers again.", {
        seconds: Math.round((clock.now() - since) / 1000),
      });
      return;
    }
  }

  return (bug) => {
    if (!(bug instanceof StoreFailure) || !away.has(bug.code)) return logger.report(bug);
    if (isAway || stopping.aborted) return;
    isAway = true;
    logger.warn(
      "The store does not answer. Runs go on where they can, and wait where they cannot.",
      {
        code: bug.code,
        reason: bug.message,
      },
    );
    void untilBack();
  };
}
