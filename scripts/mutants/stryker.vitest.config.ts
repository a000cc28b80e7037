import { defineConfig } from "vitest/config";

import { groups, testsOf } from "./groups.ts";

const group = groups[process.env["HOLDFAST_MUTANTS_GROUP"] ?? ""];
if (group === undefined) throw new Error("HOLDFAST_MUTANTS_GROUP names no group.");

export default defineConfig({
  test: {
    setupFiles: [
      "test/setup/fixed-seed.ts",
      ...(group.inThreads ? ["scripts/mutants/activate-in-threads.ts"] : []),
    ],
    include: [...testsOf(group)],
    ...(group.onPostgres && { globalSetup: "packages/testing/src/postgres/start-postgres.ts" }),
    pool: "threads",
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
