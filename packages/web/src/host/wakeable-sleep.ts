/** The client's `sleep`, which can be cut short when the next retry is likely to succeed. */
export interface WakeableSleep {
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly wake: () => void;
}

/** Longer than any pause between retries, and shorter than the silence after which a host counts as gone. */
const maxWakeableMs = 20_000;

export function createWakeableSleep(): WakeableSleep {
  const sleepers = new Set<() => void>();
  return {
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve();
        const done = (): void => {
          clearTimeout(timer);
          sleepers.delete(done);
          signal.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        signal.addEventListener("abort", done);
        if (ms <= maxWakeableMs) sleepers.add(done);
      }),
    wake: () => sleepers.forEach((done) => done()),
  };
}
