import type { Clock } from "@holdfast/engine";

/** One turn of the event loop: everything that waits for nothing outside has run by then. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export interface ManualClock extends Clock {
  /** How many are asleep: the timers of a real clock. */
  readonly sleepers: number;
  /** Wakes those whose time has come, and lets them run. */
  advance(ms: number): Promise<void>;
}

/** A clock that only the test advances. */
export function manualClock(): ManualClock {
  let now = 0;
  const sleepers = new Set<{ readonly until: number; readonly wake: () => void }>();
  return {
    now: () => now,
    get sleepers() {
      return sleepers.size;
    },
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const sleeper = {
          until: now + ms,
          wake: () => {
            sleepers.delete(sleeper);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", sleeper.wake, { once: true });
      }),
    async advance(ms) {
      now += ms;
      for (const { until, wake } of sleepers) if (until <= now) wake();
      await nextTurn();
    },
  };
}
