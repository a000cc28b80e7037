export { branch, type BranchResult, duplicate } from "./branch.ts";
export {
  clear,
  type HistoryDeps,
  type HistoryResult,
  type HistoryTarget,
  type Impossible,
  truncate,
  undo,
} from "./cut.ts";
export { interrupting, type InterruptDeps, type StillRunning } from "./interrupt.ts";
export { redo } from "./redo.ts";
export { type NewWords, retry } from "./retry.ts";
export { Titles, type TitlesDeps } from "./titles.ts";
export { restore, trash } from "./trash.ts";
