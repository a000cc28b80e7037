export { emptySession } from "./begin-session.ts";
export { answerAgain, answerRepeated, decideCommit, type Plan, type Repeated } from "./decide.ts";
export { decideLease, describeHolder, sameHolder } from "./decide-lease.ts";
export { approvalLifeMs, foldApprovals, holdsForSession } from "./fold-approval.ts";
export { type MemoryChange, memoryChangeOf, MemoryRows } from "./fold-memory.ts";
export { outboxKey, outboxRowOf, putChunk } from "./fold-outbox.ts";
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
export { newestFirst } from "./newest-first.ts";
export { maxCommitLength } from "./payload-size.ts";
export { plainText } from "@holdfast/protocol";
export type { TailItem, TailOptions } from "./tail.ts";
export { viewSession, writeListed } from "./view-session.ts";
export { type Aftermath, pendingNotices, readAftermath, withAmendments } from "./late-notices.ts";
