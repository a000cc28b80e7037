export { reduceEvent, reduceEvents } from "./reducer/reduce.ts";
export {
  emptySessionRead,
  liveRun,
  prependEntries,
  startState,
  type RereadReason,
  type SessionState,
} from "./reducer/reducer-state.ts";
export { dropOldEntries } from "./reducer/keep-tail.ts";
export type { Gap } from "./reducer/state.ts";
export * from "./client/create-client.ts";
export {
  type SessionChange,
  type CommandAnswer,
  type CommandRefusal,
  refusalFrom,
  describeError,
} from "./commands/answers.ts";
export { completeInput, type Completion } from "./commands/complete.ts";
export { type CommandContext } from "./commands/command.ts";
export { executeCommand } from "./commands/execute.ts";
export { findSessions, shortId } from "./commands/find-session.ts";
export { nearestName, similarNames } from "./commands/nearest.ts";
export { describeProcess } from "./commands/about-processes.ts";
export { describeSchedule } from "./schedule-words.ts";
export { type Invocation, parseInput, type ParsedInput, escapeMessage } from "./commands/parse.ts";
export { describeRetry } from "./describe.ts";
export * from "./client/link.ts";
export * from "./client/call-route.ts";
export * from "./client/follow.ts";
export * from "./client/open-session.ts";
