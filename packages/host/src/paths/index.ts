export { type EntryKind, Jail } from "./jail.ts";
export { belowRoot } from "./plan.ts";
export { safeFileName } from "./safe-name.ts";
export type { Found } from "./refusal.ts";
