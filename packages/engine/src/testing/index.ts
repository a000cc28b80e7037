export { anAgent, type MadeAgent, openAgentCache } from "./agent-rig.ts";
export { compactionLockCases } from "./compaction-lock-cases.ts";
export { openFullSession, withDerived, withEvents } from "./damaged-audit.ts";
export * from "./factories.ts";
export { fsckStore } from "./fsck-store.ts";
export { type GatedStore, gatedStore } from "./gated-store.ts";
export type { StoreCase, StoreHarness } from "./harness.ts";
export { indexedSearchCases } from "./indexed-search-cases.ts";
export { type ManualClock, manualClock, turn } from "./manual-clock.ts";
export { type MemoryRigOptions, NotedMemory, openMemory } from "./memory-rig.ts";
export {
  assertRefused,
  committed,
  OpenSession,
  openSession,
  present,
  same,
  seqsOf,
  textsOf,
} from "./open-session.ts";
export { searchCases, storeCases } from "./store-cases/index.ts";
export { followFrom, nextSeqs, openTailRig, type TailRig } from "./tail-rig.ts";
export { checkStorePrograms, type ProgramOptions } from "./model/index.ts";
export * from "./scripted-model.ts";
export { type DayFigures, liveScriptedDay } from "./scripted-day.ts";
export { createRunner, openRunRig, type RunRig, type RunRigOptions } from "./run-rig.ts";
export * from "./run-words.ts";
export * from "./sim/index.ts";
