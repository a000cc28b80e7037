import { beforeEach, describe } from "vitest";

import { requirePage } from "../e2e/page/require-page.ts";
import { testOldHomes } from "./suite.ts";

beforeEach(requirePage);

// In order: one of the last tests stops the host.
describe("a home of 0.1.0 on SQLite", { shuffle: false }, () => {
  testOldHomes("sqlite");
});
