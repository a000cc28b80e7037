export { type LostEvents } from "./acknowledged.ts";
export { checkCommit, type CommitLimits, commitLimits, maxCommitLength } from "./check-commit.ts";
export { type CommitNeeds, inputNamedBy, type LoadedRows, needsOf } from "./commit-fold.ts";
export {
  decideCommit,
  decideLease,
  describeHolder,
  emptySession,
  type Plan,
  repeatedCommitResult,
  type RepeatedInput,
  repeatedInputResult,
  sameHolder,
} from "./decide.ts";
export {
  blobsIn,
  foldDelta,
  foldInput,
  foldRun,
  foldSessionRow,
  isResting,
  isResumedByPerson,
  laneRowOf,
  type ResumeCause,
  usageRowOf,
} from "./fold-rows.ts";
export {
  approvalTtlMs,
  foldApprovals,
  holdsForSession,
  isGrant,
  type MemoryChange,
  memoryChangeOf,
  MemoryRows,
  mergeChunk,
  outboxKey,
  outboxRowOf,
} from "./fold-work.ts";
export {
  type CommitOptions,
  createLog,
  type Log,
  type LogOptions,
  type NewSession,
} from "./log.ts";
export {
  encodeSessionPage,
  joinDeltas,
  newestFirst,
  type NoticeUpdates,
  pendingNotices,
  readNoticeUpdates,
  seqSpanOf,
  viewSession,
  withAmendments,
} from "./read-views.ts";
export { type TailItem, type TailOptions } from "./tail.ts";
