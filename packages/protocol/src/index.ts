export * from "./ids.ts";
export * from "./parts.ts";
export * from "./events/index.ts";
export * from "./folds/plain-text.ts";
export * from "./problems.ts";
export * from "./http/routes.ts";
export * from "./sse/frames.ts";
export * from "./sse/cursors.ts";
export * from "./sse/stream.ts";
export { entriesOf, foldLiveJournal } from "./folds/reads.ts";
export { foldSessionFacts, type SessionFacts } from "./folds/session.ts";

export * from "./folds/late.ts";
export * from "./folds/live.ts";
export * from "./folds/transcript.ts";
export * from "./commands.ts";
