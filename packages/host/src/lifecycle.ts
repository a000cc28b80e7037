import type { Clock, Store } from "@holdfast/engine";

const pruneBatchSize = 500;
const pruneIntervalMs = 60_000;
/** Between two batches, so that nobody waits long behind them. */
const pruneBatchPauseMs = 50;

/**
 * Deletes what nothing needs any more, little by little. Where there is nothing, nothing is written: a look costs a few
 * index reads.
 */
export async function pruneRegularly(
  store: Store,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(pruneIntervalMs, signal);
    if (signal.aborted) return;
    const result = await store.prune(pruneBatchSize);
    if (result.status === "pruned" && result.rows === pruneBatchSize)
      await pruneRemaining(store, clock, signal);
  }
}

async function pruneRemaining(store: Store, clock: Clock, signal: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(pruneBatchPauseMs, signal);
    if (signal.aborted) return;
    const result = await store.prune(pruneBatchSize);
    if (result.status !== "pruned" || result.rows < pruneBatchSize) return;
  }
}
