export { emptySession } from "./decide.ts";
export {
  repeatedCommitResult,
  repeatedInputResult,
  decideCommit,
  type Plan,
  type RepeatedInput,
} from "./decide.ts";
export { decideLease, describeHolder, sameHolder } from "./leases.ts";
export { approvalTtlMs, foldApprovals, holdsForSession } from "./fold-approvals.ts";
export { type MemoryChange, memoryChangeOf, MemoryRows } from "./fold-outbound.ts";
export { outboxKey, outboxRowOf, mergeChunk } from "./fold-outbound.ts";
export { blobsIn, foldInput, foldRun, laneRowOf, usageRowOf } from "./fold-rows.ts";
export { foldDelta, foldSessionRow } from "./fold-rows.ts";
export { checkCommit, type CommitLimits, commitLimits } from "./check-commit.ts";
export {
  type CommitOptions,
  createLog,
  type Log,
  type LogOptions,
  type NewSession,
} from "./log.ts";
export { joinDeltas, seqSpanOf } from "./read-views.ts";
export { isResumedByPerson, type ResumeCause, isResting } from "./fold-rows.ts";
export { inputNamedBy, type LoadedRows, type CommitNeeds, needsOf } from "./commit-fold.ts";
export { newestFirst } from "./entries.ts";
export { maxCommitLength } from "./check-commit.ts";

export type { TailItem, TailOptions } from "./tail.ts";
export { viewSession, encodeSessionPage } from "./read-views.ts";
export {
  type NoticeUpdates,
  pendingNotices,
  readNoticeUpdates,
  withAmendments,
} from "./entries.ts";
