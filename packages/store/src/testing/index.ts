export { type HarnessFactory, memoryHarness } from "./harnesses.ts";
