export { emptySession } from "./begin-session.ts";
export { answerAgain, answerRepeated, decideCommit, type Plan, type Repeated } from "./decide.ts";
export { decideLease, describeHolder, sameHolder } from "./leases.ts";
export { approvalLifeMs, foldApprovals, holdsForSession } from "./fold-approvals.ts";
export { type MemoryChange, memoryChangeOf, MemoryRows } from "./fold-memory.ts";
export { outboxKey, outboxRowOf, putChunk } from "./fold-outbound.ts";
export { blobsIn, foldInput, foldRun, laneOf, usageOf } from "./fold-rows.ts";
export { foldDelta, foldSession } from "./fold-session.ts";
export { checkCommit, type CommitLimits, commitLimits } from "./limits.ts";
export {
  type CommitOptions,
  createLog,
  type Log,
  type LogOptions,
  type NewSession,
} from "./log.ts";
export { joinDeltas, numbersOf } from "./join-deltas.ts";
export { goesOnByWord, type PersonsWord, rests } from "./run-states.ts";
export { inputNamedBy, type Loaded, type Needs, needsOf } from "./needs.ts";
export { newestFirst } from "./entries.ts";
export { maxCommitLength } from "./payload-size.ts";

export type { TailItem, TailOptions } from "./tail.ts";
export { viewSession, writeListed } from "./read-views.ts";
export { type Aftermath, pendingNotices, readAftermath, withAmendments } from "./late-notices.ts";
