export { type HarnessFactory, memoryHarness, postgresHarness, sqliteHarness } from "./harnesses.ts";
