/**
 * Time as the engine sees it. It only measures waiting: whatever is stored or compared between processes takes
 * the store's clock.
 */
export interface Clock {
  /** Milliseconds from some fixed point; never steps back. */
  now(): number;
  /** Resolves after that time, or as soon as the signal is aborted; it never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** From 0 (included) to 1 (excluded). */
export type Random = () => number;

/** Timers count no further, and take what is more for nothing. Whoever waits so long looks again when it is over. */
const maxTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      // A time that has passed while it was counted is no bug, and no wait.
      const timer = setTimeout(done, Math.min(Math.max(0, ms), maxTimerMs));
      signal?.addEventListener("abort", done);
    }),
};

export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** How long to wait before the next try: doubling, and spread over its second half so that waiters do not march in step. */
export function backoffMs({ firstMs, longestMs }: Backoff, tries: number, random: Random): number {
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(tries, 30));
  return full * (0.5 + random() / 2);
}
