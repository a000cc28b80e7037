export {
  type AcceptedMessage,
  type AfterRun,
  createEngine,
  type Engine,
  type EngineAgents,
  type EngineOptions,
  type EngineSettings,
  type EngineStorage,
  type FollowOptions,
  type NewMessage,
  type SendResult,
} from "./create-engine.ts";
export * from "./ports/index.ts";
export * from "./log/index.ts";
export {
  AgentCache,
  type AgentCacheDeps,
  type BorrowedAgent,
  type CacheFigures,
  type CacheLimits,
  type EvictionReason,
} from "./agents/cache.ts";
export {
  buildContext,
  type BuiltContext,
  type FrameBytes,
  type HashMemo,
  imageTokens,
  pendingCalls,
} from "./context/build-context.ts";
export {
  type Compaction,
  type CompactionDeps,
  type CompactionReason,
  type CompactionTarget,
  compactSession,
} from "./context/compact.ts";
export {
  type CompactionLock,
  type CompactionLockOptions,
  createCompactionLock,
  type HeldLock,
} from "./context/compaction-lock.ts";
export {
  type Compactor,
  type CompactorDeps,
  type ContextFit,
  createCompactor,
} from "./context/compactor.ts";
export { activeSkills } from "./context/active-skills.ts";
export {
  type ContextKind,
  contextKinds,
  type ContextReport,
  describeContext,
  type DescribeOptions,
} from "./context/describe-context.ts";
export {
  frameContext,
  type Framed,
  type FrameSource,
  lastSentRequest,
  recordRequest,
  type SentRequest,
} from "./context/prefix.ts";
export { type EpochResult, type EpochTarget, restoreEpoch } from "./context/restore-epoch.ts";
export {
  type AppliedEpoch,
  type CachedContext,
  type ContextEntries,
  emptyCachedContext,
  readContext,
  refreshContext,
} from "./context/session-context.ts";
export { redactSecrets } from "./context/write-summary.ts";
export { type FsckMode } from "./fsck/check-session.ts";
export {
  type Finding,
  type FindingCode,
  fsckExit,
  type FsckItem,
  type FsckSummary,
  type Repair,
} from "./fsck/findings.ts";
export { fsck, type FsckOptions, type FsckProgress, runFsck } from "./fsck/fsck.ts";
export { shortHash } from "./hash.ts";
export { rangeContaining } from "./log/read-views.ts";
export {
  listAlternatives,
  readHiddenAlternatives,
  switchAlternative,
} from "./history/alternatives.ts";
export { branch, type BranchResult, duplicate } from "./history/branch.ts";
export {
  clear,
  type HistoryDeps,
  type HistoryRefusal,
  type HistoryResult,
  type HistoryTarget,
  truncate,
} from "./history/cut.ts";
export { undo } from "./history/undo.ts";
export { type InterruptDeps, interruptThen, type StillRunning } from "./history/interrupt.ts";
export { redo } from "./history/redo.ts";
export { retry, type RetryInput } from "./history/retry.ts";
export { TitleGenerator, type TitleGeneratorDeps } from "./history/titles.ts";
export { restore, trash } from "./history/trash.ts";
export { type Boundary, MemoryCommitter, type MemoryCommitterDeps } from "./memory/committer.ts";
export { createRecall, type Recall, type RecallQuery } from "./memory/recall.ts";
export {
  ConversationReviewer,
  type ConversationReviewerDeps,
  type ReviewFigures,
} from "./memory/reviews.ts";
export { taintOf } from "./context/taint.ts";
export { type IsFromPerson } from "./memory/segment.ts";
export { settleJournal } from "./recovery/settle-journal.ts";
export { type SpillState } from "./recovery/spill.ts";
export { maxEntriesPerStep, type ResumePolicy } from "./recovery/take-over.ts";
export {
  acceptInput,
  type Admission,
  admitMessage,
  changeInput,
  type NewInput,
  removeInput,
} from "./run/admit.ts";
export {
  answerApproval,
  type AnswerDetails,
  type AnswerResult,
  expireApproval,
  revokeGrant,
} from "./run/answer-approval.ts";
export { permanentRule } from "./run/approvals.ts";
export { type RunAgents } from "./run/call-model.ts";
export { type CancelResult, requestCancel } from "./run/cancel.ts";
export { inputEntry } from "./run/claim.ts";
export { type RunLimits } from "./run/drive.ts";
export {
  findReachedLimit,
  type PaidWork,
  type SpendDeps,
  type SpendLimit,
  type SpendLimitsOf,
} from "./limits/spend-limits.ts";
export { foldStep } from "./run/fold-step.ts";
export { eventsUntilRunEnds, type FollowedRun } from "./run/follow-run.ts";
export {
  type Heartbeat,
  renewalRetryMs,
  renewalTimeoutMs,
  startHeartbeat,
} from "./run/lease-renewer.ts";
export { type ResumeResult, resumeRun, type ResumeTarget } from "./run/resume.ts";
export { type LossReason, RunHandle } from "./run/run-handle.ts";
export { type ModeLimit, modeOfRun } from "./run/session-mode.ts";
export { type RightsOf, type RightsQuestion } from "./run/run-rights.ts";
export { Runner, type RunnerDeps } from "./run/runner.ts";
export {
  createRunEvents,
  type RunEvents,
  settleUnrunCalls,
  type StepEntries,
  usageData,
} from "./run/settle.ts";
