import { beforeEach, describe } from "vitest";

import { requirePage } from "../e2e/page/require-page.ts";
import { testOldHomes } from "./suite.ts";

beforeEach(requirePage);

describe("a home of 0.1.0 on SQLite", () => {
  testOldHomes("sqlite");
});
