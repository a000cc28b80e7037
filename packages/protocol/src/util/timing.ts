export interface TimeLimit {
  readonly clock: { sleep(ms: number, signal: AbortSignal): Promise<void> };
  readonly ms: number;
  /** Ends the wait early. */
  readonly signal?: AbortSignal | undefined;
}

export type TimedResult<T> =
  | { readonly status: "done"; readonly value: T }
  /** The time limit came first. */
  | { readonly status: "late" }
  /** The abort came first. */
  | { readonly status: "aborted" };

/**
 * Starts work and waits for it up to the limit. The work's signal is aborted when the wait is over. A rejection in time
 * reaches the caller; a later one is dropped.
 */
export async function withTimeout<T>(
  { clock, ms, signal }: TimeLimit,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<TimedResult<T>> {
  const over = new AbortController();
  const stop = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]);
  try {
    const timeout = clock
      .sleep(ms, stop)
      .then(() => ({ status: signal?.aborted === true ? "aborted" : "late" }) as const);
    const done = work(stop).then((value) => ({ status: "done", value }) as const);
    return await Promise.race([done, timeout]);
  } finally {
    over.abort();
  }
}

/** setTimeout overflows above 2^31 - 1 ms. A longer sleep ends early, and its caller checks the time again. */
const maxTimerMs = 2 ** 31 - 1;

/** Resolves after the given time or when the signal is aborted. Never rejects. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    // A time that has already passed is not a bug, and needs no wait.
    const timer = setTimeout(done, Math.min(Math.max(0, ms), maxTimerMs));
    signal?.addEventListener("abort", done);
  });
}
