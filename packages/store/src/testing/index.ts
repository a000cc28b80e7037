export { type HarnessFactory, memoryHarness, sqliteHarness } from "./harnesses.ts";
