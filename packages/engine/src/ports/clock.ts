/**
 * Time as the engine sees it. It only measures waiting: anything stored or compared between processes uses the store's
 * clock.
 */
export interface Clock {
  /** Milliseconds from some fixed point; never steps back. */
  now(): number;
  /** Resolves after that time, or as soon as the signal is aborted; it never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** From 0 (inclusive) to 1 (exclusive). */
export type Random = () => number;

/** setTimeout overflows above 2^31 - 1 ms. A longer sleep ends early, and its caller checks the time again. */
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
      // A time that has already passed is not a bug, and needs no wait.
      const timer = setTimeout(done, Math.min(Math.max(0, ms), maxTimerMs));
      signal?.addEventListener("abort", done);
    }),
};

export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/**
 * How long to wait before the next try: doubling, with jitter over its second half so that waiters do not run in
 * lockstep.
 */
export function backoffMs({ firstMs, longestMs }: Backoff, tries: number, random: Random): number {
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(tries, 30));
  return full * (0.5 + random() / 2);
}
