export {
  type CompactionLock,
  type CompactionLockOptions,
  createCompactionLock,
  type HeldLock,
} from "./compaction-lock.ts";
export { type Heartbeat, keepLease } from "./compaction-lock-heartbeat.ts";
export {
  compactSession,
  type Compaction,
  type CompactionDeps,
  type CompactionReason,
  type CompactionTarget,
} from "./compact.ts";
export { buildContext, type BuiltContext, type FrameBytes, type HashMemo } from "./blocks.ts";
export { type Framed, frameContext, type FrameSource } from "./frame.ts";
export {
  contextKinds,
  type ContextKind,
  type ContextReport,
  describeContext,
  type DescribeOptions,
} from "./describe-context.ts";
export { shortHash } from "./hash.ts";
export { type EpochResult, type EpochTarget, restoreEpoch } from "./restore-epoch.ts";
export { pendingCalls } from "./messages.ts";
export { redactSecrets } from "./redact.ts";
export { recordRequest, sentBefore, type SentRequest } from "./prefix.ts";
export {
  type AppliedEpoch,
  type ContextEntries,
  readContext,
  refreshContext,
} from "./read-context.ts";
