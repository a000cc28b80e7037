export { type Change, type CommandAnswer, type Refused, refusedBy, sentenceOf } from "./answers.ts";
export { completeTyped, type Completion } from "./complete.ts";
export { type CommandPlace, executeCommand } from "./execute.ts";
export { findSessions, shortId } from "./find-session.ts";
export { nearestName, nearNames } from "./nearest.ts";
export { processInWords } from "./about-processes.ts";
export { scheduleInWords } from "./schedule-words.ts";
export { type Invocation, parseTyped, type Typed, typedFor } from "./parse.ts";
export {
  commandNamed,
  type CommandName,
  commands,
  type CommandSpec,
  type Completes,
  type Takes,
  usageOf,
} from "./table.ts";
