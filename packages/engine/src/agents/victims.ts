import type { CacheEntry } from "./cache-entry.ts";

export type EvictionReason = "bytes" | "count" | "idle" | "pressure" | "configuration" | "asked";

export interface CacheLimits {
  readonly bytes: number;
  readonly count: number;
  readonly idleMs: number;
  /** How many sessions an agent remembers the version of. */
  readonly baselines: number;
}

export interface Eviction<Kept> {
  readonly entry: CacheEntry<Kept>;
  readonly reason: EvictionReason;
}

/**
 * Of the entries with their sizes, who has to go, the one that was not used longest first. An agent that is borrowed is never chosen, so the cache may be
 * over its limits as long as that many run.
 */
export function chooseEvictions<Kept>(
  entries: ReadonlyMap<CacheEntry<Kept>, number>,
  limits: CacheLimits,
  now: number,
  memory: "enough" | "scarce",
): readonly Eviction<Kept>[] {
  const victims: Eviction<Kept>[] = [];
  let bytes = entries.values().reduce((sum, size) => sum + size, 0);
  let count = entries.size;
  const idle = [...entries.keys()]
    .filter((entry) => !entry.isBorrowed)
    .toSorted((one, other) => one.usedAt - other.usedAt);
  for (const entry of idle) {
    const reason = whyNow(entry);
    if (reason === null) continue;
    victims.push({ entry, reason });
    bytes -= entries.get(entry) ?? 0;
    count -= 1;
  }
  return victims;

  function whyNow(entry: CacheEntry<Kept>): EvictionReason | null {
    if (now - entry.usedAt >= limits.idleMs) return "idle";
    if (memory === "scarce") return "pressure";
    if (count > limits.count) return "count";
    return bytes > limits.bytes ? "bytes" : null;
  }
}
