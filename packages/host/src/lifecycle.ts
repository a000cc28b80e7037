import type { Clock, Store } from "@holdfast/engine";

const batch = 500;
const pauseMs = 60_000;
/** Between two batches, so that nobody waits long behind them. */
const breathMs = 50;

/**
 * Deletes what nothing needs any more, little by little. Where there is nothing, nothing is written: a look costs a few
 * index reads.
 */
export async function keepTidy(store: Store, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(pauseMs, signal);
    if (signal.aborted) return;
    const result = await store.prune(batch);
    if (result.status === "pruned" && result.rows === batch) await tidyOn(store, clock, signal);
  }
}

async function tidyOn(store: Store, clock: Clock, signal: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(breathMs, signal);
    if (signal.aborted) return;
    const result = await store.prune(batch);
    if (result.status !== "pruned" || result.rows < batch) return;
  }
}
