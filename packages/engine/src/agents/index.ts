export { AgentCache, type AgentCacheDeps, type BorrowedAgent, type CacheFigures } from "./cache.ts";
export type { Standing } from "./baselines.ts";
export { CacheEntry } from "./entry.ts";
export type { CacheLimits, EvictionReason } from "./victims.ts";
