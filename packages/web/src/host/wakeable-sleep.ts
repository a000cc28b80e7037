import { sleep } from "@holdfast/protocol";

/** The client's `sleep`, which can be cut short when the next retry is likely to succeed. */
export interface WakeableSleep {
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly wake: () => void;
}

/** Longer than any pause between retries, and shorter than the silence after which a host counts as gone. */
const maxWakeableMs = 20_000;

export function createWakeableSleep(): WakeableSleep {
  const sleepers = new Set<AbortController>();
  return {
    async sleep(ms, signal) {
      if (ms > maxWakeableMs) return sleep(ms, signal);
      const sleeper = new AbortController();
      sleepers.add(sleeper);
      await sleep(ms, AbortSignal.any([signal, sleeper.signal]));
      sleepers.delete(sleeper);
    },
    wake: () => sleepers.forEach((sleeper) => sleeper.abort()),
  };
}
