import { describe } from "vitest";

import { testOldHomes } from "./suite.ts";

// In order: one of the last tests stops the host.
describe("a home of 0.1.0 on PostgreSQL", { shuffle: false }, () => {
  testOldHomes("postgres");
});
