import { sleep } from "@holdfast/protocol";

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

export const systemClock: Clock = { now: () => performance.now(), sleep };
