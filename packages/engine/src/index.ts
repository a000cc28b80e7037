export {
  type AcceptedMessage,
  type AfterRun,
  createEngine,
  type Engine,
  type EngineAgents,
  type EngineOptions,
  type EngineSettings,
  type EngineStorage,
  type Following,
  type Message,
  type Sent,
} from "./create-engine.ts";
export * from "./ports/index.ts";
export * from "./log/index.ts";
export {
  AgentCache,
  type AgentCacheDeps,
  type BorrowedAgent,
  type CacheFigures,
} from "./agents/cache.ts";
export type { BaselineStatus } from "./agents/cache-entry.ts";
export { CacheEntry } from "./agents/cache-entry.ts";
export type { CacheLimits, EvictionReason } from "./agents/cache.ts";
export {
  type CompactionLock,
  type CompactionLockOptions,
  createCompactionLock,
  type HeldLock,
} from "./context/compaction-lock.ts";
export { type Heartbeat, startHeartbeat } from "./log/leases.ts";
export { type Compactor, type CompactorDeps, createCompactor } from "./context/compactor.ts";
export {
  compactSession,
  type Compaction,
  type CompactionDeps,
  type CompactionReason,
  type CompactionTarget,
} from "./context/compact.ts";
export {
  buildContext,
  type BuiltContext,
  type FrameBytes,
  type HashMemo,
} from "./context/build-context.ts";
export { type Framed, frameContext, type FrameSource } from "./context/prefix.ts";
export {
  contextKinds,
  type ContextKind,
  type ContextReport,
  describeContext,
  type DescribeOptions,
} from "./context/describe-context.ts";
export { shortHash } from "./hash.ts";
export { type EpochResult, type EpochTarget, restoreEpoch } from "./context/restore-epoch.ts";
export { pendingCalls } from "./context/build-context.ts";
export { redactSecrets } from "./context/write-summary.ts";
export { recordRequest, lastSentRequest, type SentRequest } from "./context/prefix.ts";
export {
  type AppliedEpoch,
  type ContextEntries,
  readContext,
  refreshContext,
} from "./context/read-context.ts";
export {
  type Finding,
  type FindingCode,
  fsckExit,
  type FsckItem,
  type FsckSummary,
  type Repair,
} from "./fsck/findings.ts";
export { fsck, type FsckOptions, type FsckProgress, runFsck } from "./fsck/fsck.ts";
export type { FsckMode } from "./fsck/check-session.ts";
export type { IsFromPerson } from "./memory/segment.ts";
export { type Boundary, MemoryCommitter, type MemoryCommitterDeps } from "./memory/committer.ts";
export { createRecall, type RecallQuery, type Recall } from "./memory/recall.ts";
export {
  type ReviewFigures,
  ConversationReviewer,
  type ConversationReviewerDeps,
} from "./memory/reviews.ts";
export { type StepEntries, settleUnrunCalls } from "./run/settle.ts";
export {
  admitMessage,
  type Admission,
  changeInput,
  acceptInput,
  type NewInput,
  removeInput,
} from "./run/admit.ts";
export {
  answerApproval,
  type AnswerResult,
  type AnswerDetails,
  expireApproval,
} from "./run/approvals.ts";
export { type CancelResult, requestCancel } from "./run/cancel.ts";
export type { RunLimits } from "./run/drive.ts";
export type { ContextFit } from "./run/run-context.ts";
export { foldStep } from "./run/fold-step.ts";
export { settleJournal } from "./recovery/settle-journal.ts";
export { maxEntriesPerStep, type ResumePolicy } from "./recovery/take-over.ts";
export { resumeRun, type ResumeResult, type ResumeTarget } from "./run/resume.ts";
export { type RunEvents, usageData, createRunEvents } from "./run/settle.ts";
export { inputEntry } from "./run/claim.ts";
export { RunHandle, type LossReason } from "./run/run-handle.ts";
export { Runner, type RunnerDeps } from "./run/runner.ts";
export { emptyCachedContext, type CachedContext } from "./run/run-context.ts";
export type { RunAgents } from "./run/prepare-step.ts";
export type { SpillState } from "./recovery/spill.ts";
export { branch, type BranchResult, duplicate } from "./history/branch.ts";
export {
  clear,
  type HistoryDeps,
  type HistoryResult,
  type HistoryTarget,
  type HistoryRefusal,
  truncate,
  undo,
} from "./history/cut.ts";
export { interruptThen, type InterruptDeps, type StillRunning } from "./history/interrupt.ts";
export { redo } from "./history/redo.ts";
export { type RetryInput, retry } from "./history/retry.ts";
export { TitleGenerator, type TitleGeneratorDeps } from "./history/titles.ts";
export { restore, trash } from "./history/trash.ts";
