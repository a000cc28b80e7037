export { reduceEvent, reduceEvents } from "./reduce.ts";
export {
  blankRead,
  liveRun,
  prependEntries,
  startState,
  type ReadAgain,
  type SessionState,
} from "./state.ts";
export { entriesOf, foldJournal } from "./reads.ts";
export { inPlace } from "./late.ts";
export { keepTail } from "./keep-tail.ts";
export type { Gap } from "./gaps.ts";
export { foldSession, type SessionFacts } from "./session.ts";
