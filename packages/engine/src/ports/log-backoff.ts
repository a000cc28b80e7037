import type { Random } from "./clock.ts";

export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** How long to wait before the next try: doubling, and spread over its second half so that waiters do not march in step. */
export function backoffMs({ firstMs, longestMs }: Backoff, tries: number, random: Random): number {
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(tries, 30));
  return full * (0.5 + random() / 2);
}
