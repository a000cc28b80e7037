export { type AskedIn, tellUnrun } from "./begun-calls.ts";
export {
  admitMessage,
  type Admission,
  changeInput,
  inputEvents,
  type NewInput,
  removeInput,
} from "./admit.ts";
export { answerApproval, type AnswerResult, type AnswerWords, expireApproval } from "./answer.ts";
export { type CancelResult, requestCancel } from "./cancel.ts";
export type { RunLimits } from "./spend.ts";
export type { ContextFit } from "./fit-context.ts";
export { foldStep } from "./fold-step.ts";
export { leftoversOf } from "./leftovers.ts";
export { entriesOfAStep, type ResumePolicy } from "./recover.ts";
export { resumeRun, type ResumeResult, type ResumeTarget } from "./resume.ts";
export { type RunWriter, usageOfCall, writerFor } from "./settle.ts";
export { takenInput } from "./steer.ts";
export { RunHandle, type LossReason } from "./run-handle.ts";
export { Runner, type RunnerDeps } from "./runner.ts";
export { emptyContext, type KnownContext } from "./run-context.ts";
export type { WarmAgents } from "./warm-run.ts";
export type { Storing } from "./spill.ts";
