export { type HarnessFactory, memoryHarness, postgresHarness, sqliteHarness } from "./harnesses.ts";
export { hitsOf, openSearchRig, say, type SearchRig, seqsFound } from "./search-rig.ts";
