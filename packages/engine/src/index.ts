export * from "./ports/index.ts";
export * from "./log/index.ts";
export {
  AgentCache,
  type AgentCacheDeps,
  type BorrowedAgent,
  type CacheFigures,
} from "./agents/cache.ts";
export type { Standing } from "./agents/baselines.ts";
export { CacheEntry } from "./agents/cache-entry.ts";
export type { CacheLimits, EvictionReason } from "./agents/victims.ts";
export {
  type CompactionLock,
  type CompactionLockOptions,
  createCompactionLock,
  type HeldLock,
} from "./context/compaction-lock.ts";
export { type Heartbeat, keepLease } from "./log/compaction-lock-heartbeat.ts";
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
export { type Framed, frameContext, type FrameSource } from "./context/frame.ts";
export {
  contextKinds,
  type ContextKind,
  type ContextReport,
  describeContext,
  type DescribeOptions,
} from "./context/describe-context.ts";
export { shortHash } from "./hash.ts";
export { type EpochResult, type EpochTarget, restoreEpoch } from "./context/restore-epoch.ts";
export { pendingCalls } from "./context/messages.ts";
export { redactSecrets } from "./context/redact.ts";
export { recordRequest, sentBefore, type SentRequest } from "./context/prefix.ts";
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
export type { IsPersons } from "./memory/capture.ts";
export { type Boundary, MemoryKeeper, type MemoryKeeperDeps } from "./memory/committer.ts";
export { createRecall, type Question, type Recall } from "./memory/recall.ts";
export { type ReviewFigures, Reviews, type ReviewsDeps } from "./memory/reviews.ts";
export { type AskedIn, tellUnrun } from "./run/begun-calls.ts";
export {
  admitMessage,
  type Admission,
  changeInput,
  inputEvents,
  type NewInput,
  removeInput,
} from "./run/admit.ts";
export {
  answerApproval,
  type AnswerResult,
  type AnswerWords,
  expireApproval,
} from "./run/answer.ts";
export { type CancelResult, requestCancel } from "./run/cancel.ts";
export type { RunLimits } from "./run/spend.ts";
export type { ContextFit } from "./run/fit-context.ts";
export { foldStep } from "./run/fold-step.ts";
export { leftoversOf } from "./recovery/settle-journal.ts";
export { entriesOfAStep, type ResumePolicy } from "./recovery/take-over.ts";
export { resumeRun, type ResumeResult, type ResumeTarget } from "./run/resume.ts";
export { type RunWriter, usageOfCall, writerFor } from "./run/settle.ts";
export { takenInput } from "./run/steer.ts";
export { RunHandle, type LossReason } from "./run/run-handle.ts";
export { Runner, type RunnerDeps } from "./run/runner.ts";
export { emptyContext, type KnownContext } from "./run/run-context.ts";
export type { WarmAgents } from "./run/warm-run.ts";
export type { Storing } from "./recovery/spill.ts";
export { branch, type BranchResult, duplicate } from "./history/branch.ts";
export {
  clear,
  type HistoryDeps,
  type HistoryResult,
  type HistoryTarget,
  type Impossible,
  truncate,
  undo,
} from "./history/cut.ts";
export { interrupting, type InterruptDeps, type StillRunning } from "./history/interrupt.ts";
export { redo } from "./history/redo.ts";
export { type NewWords, retry } from "./history/retry.ts";
export { Titles, type TitlesDeps } from "./history/titles.ts";
export { restore, trash } from "./history/trash.ts";
