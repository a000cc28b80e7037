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
