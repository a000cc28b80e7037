export {
  type CompactionLock,
  type CompactionLockOptions,
  createCompactionLock,
  type HeldLock,
} from "./compaction-lock.ts";
export type { Heartbeat } from "./compaction-lock-heartbeat.ts";
export { modelMessages, pendingCalls } from "./messages.ts";
