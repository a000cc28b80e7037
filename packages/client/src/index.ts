export { reduceEvent, reduceEvents } from "./reducer/reduce.ts";
export {
  blankRead,
  liveRun,
  prependEntries,
  startState,
  type ReadAgain,
  type SessionState,
} from "./reducer/reducer-state.ts";
export { keepTail } from "./reducer/keep-tail.ts";
export type { Gap } from "./reducer/state.ts";
export * from "./client/create-client.ts";
export {
  type Change,
  type CommandAnswer,
  type Refused,
  refusedBy,
  sentenceOf,
} from "./commands/answers.ts";
export { completeTyped, type Completion } from "./commands/complete.ts";
export { type CommandPlace } from "./commands/command.ts";
export { executeCommand } from "./commands/execute.ts";
export { findSessions, shortId } from "./commands/find-session.ts";
export { nearestName, nearNames } from "./commands/nearest.ts";
export { processInWords } from "./commands/about-processes.ts";
export { scheduleInWords } from "./schedule-words.ts";
export { type Invocation, parseTyped, type Typed, typedFor } from "./commands/parse.ts";
export { tryingAgain } from "./describe.ts";
export * from "./client/link.ts";
export * from "./client/call-route.ts";
export * from "./client/follow.ts";
export * from "./client/open-session.ts";
