export { branch, type BranchResult } from "./branch.ts";
export {
  clear,
  type HistoryDeps,
  type HistoryResult,
  type HistoryTarget,
  type Impossible,
  truncate,
  undo,
} from "./cut.ts";
export { redo } from "./redo.ts";
export { type NewWords, retry } from "./retry.ts";
