/** The waits of the client, which can be cut short when there is reason to believe that the next try succeeds. */
export interface WakeableSleep {
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly wake: () => void;
}

/** A pause between two tries is shorter; the silence after which a host counts as gone is longer, and is not cut. */
const maxWakeableMs = 20_000;

export function createWakeableSleep(): WakeableSleep {
  const pausing = new Set<() => void>();
  return {
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve();
        const done = (): void => {
          clearTimeout(timer);
          pausing.delete(done);
          signal.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        signal.addEventListener("abort", done);
        if (ms <= maxWakeableMs) pausing.add(done);
      }),
    wake: () => pausing.forEach((done) => done()),
  };
}
