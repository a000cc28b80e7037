export { reduceEvent, reduceEvents } from "./reduce.ts";
export {
  blankRead,
  liveRun,
  prependEntries,
  startState,
  type ReadAgain,
  type SessionState,
} from "./state.ts";
export { entryOf, isVisible, reworded } from "./entries.ts";
export { emptyLive, foldLive } from "./live.ts";
export type { Gap } from "./gaps.ts";
export { foldSession, type SessionFacts } from "./session.ts";
