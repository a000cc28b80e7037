export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** 2^30 times the first wait exceeds any `longestMs` but is still finite. */
const maxDoublings = 30;

/**
 * How long to wait before the next try: the first wait, doubled `retries` times. With `random` (from 0 to 1, exclusive)
 * the second half of the wait is jittered, so that waiters do not run in lockstep.
 */
export function backoffMs(
  { firstMs, longestMs }: Backoff,
  retries: number,
  random?: () => number,
): number {
  const doublings = Math.min(Math.max(0, retries), maxDoublings);
  const full = Math.min(longestMs, firstMs * 2 ** doublings);
  return random === undefined ? full : full * (0.5 + random() / 2);
}
