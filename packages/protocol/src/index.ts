export * from "./ids.ts";
export * from "./parts.ts";
export * from "./events/registry.ts";
export * from "./folds/plain-text.ts";
export * from "./problems.ts";
export * from "./http/routes.ts";
export * from "./sse/frames.ts";
export * from "./sse/stream.ts";
export * from "./sse/stream.ts";
export { entriesOf, foldLiveJournal } from "./folds/transcript.ts";
export { foldSessionFacts, type SessionFacts } from "./folds/session.ts";

export * from "./folds/transcript.ts";
export * from "./folds/transcript.ts";
export * from "./folds/transcript.ts";
export * from "./commands.ts";
export * from "./util/backoff.ts";
export * from "./util/sleep.ts";
export * from "./util/with-timeout.ts";
