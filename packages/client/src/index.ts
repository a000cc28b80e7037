export { reduceEvent, reduceEvents } from "./reducer/reduce.ts";
export {
  emptySessionRead,
  liveRun,
  waitsForPerson,
  prependEntries,
  startState,
  type RereadReason,
  type SessionState,
} from "./reducer/state.ts";
export { dropOldEntries } from "./reducer/state.ts";
export type { Gap } from "./reducer/state.ts";
export * from "./client/create-client.ts";
export {
  type SessionChange,
  type CommandAnswer,
  type CommandRefusal,
  refusalFrom,
  describeError,
} from "./commands/command.ts";
export { completeInput, type Completion } from "./commands/parse.ts";
export { type CommandContext } from "./commands/command.ts";
export {
  describeReread,
  describeSharedReread,
  readRereadCost,
  readSharedRereadCost,
  rereadCost,
  type RereadCost,
  type SharedRereadCost,
} from "./commands/reread-cost.ts";
export { executeCommand } from "./commands/execute.ts";
export { findSessions, shortId } from "./commands/sessions.ts";
export { nearestName, similarNames } from "./commands/parse.ts";
export {
  describeFact,
  describePersonas,
  describeProcess,
  matchFacts,
  matchPersona,
  matchProject,
  refusePersona,
} from "./commands/settings.ts";
export {
  citedSources,
  describeAlternatives,
  describeMode,
  describeSchedule,
  describeSpendLimit,
  givenUpText,
} from "./describe.ts";
export { describeEffect, describeRestored, type RestoreCause } from "./commands/describe-files.ts";
export { countOtherFiles } from "./commands/conversation.ts";
export { asksForSkill, completeSkill, listUsableSkills } from "./commands/skills.ts";
export { type Invocation, parseInput, type ParsedInput, escapeMessage } from "./commands/parse.ts";
export { describeRetry, describeRetryCause } from "./describe.ts";
export { isCostlyMarkdown } from "./costly-markdown.ts";
export { type EditorSetup, editorSetups } from "./editor-setup.ts";
export { findPasted, isLongPaste, isWorthMarking, pasteName } from "./input/pasted-text.ts";
export { type LineKind, readShown, type ShownText } from "./shown-call.ts";
export {
  type AttachmentCost,
  describeAttachmentCost,
  findUnseen,
  isCostly,
  type Unseen,
} from "./input/unseen.ts";
export * from "./client/call-route.ts";
export * from "./client/event-stream.ts";
export * from "./client/follow.ts";
export * from "./client/open-session.ts";
