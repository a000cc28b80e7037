import { describe } from "vitest";

import { testOldHomes } from "./suite.ts";

describe("a home of 0.1.0 on PostgreSQL", () => {
  testOldHomes("postgres");
});
