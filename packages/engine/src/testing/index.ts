export * from "./factories.ts";
export type { StoreCase, StoreHarness } from "./harness.ts";
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
export { storeCases } from "./store-cases/index.ts";
