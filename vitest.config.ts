import { enableCompileCache } from "node:module";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

import { defineConfig } from "vitest/config";

import { useBuiltThreads } from "./test/setup/built-threads.ts";
import { LongestFirst } from "./test/setup/longest-first.ts";

// Many tests start processes and threads. What one of them has compiled the others take over: the environment is inherited.
// Not while coverage is measured, which wants to see everything compiled.
if (!process.argv.includes("--coverage")) {
  const kept = new URL("node_modules/.cache/holdfast/compiled/", import.meta.url);
  process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(kept);
  enableCompileCache(process.env["NODE_COMPILE_CACHE"]);
}

const sources = "{packages/*/{src,test,contracts},scripts}";
/** Contract suites take a store: their runners, `*.pg.test.ts` and `reference-store.test.ts`, import them. */
const suites = "**/*.suite.test.ts";
const needsPostgres = "{packages/*/{src,test,contracts},test}/**/*.pg.test.ts";

const plugins = [useBuiltThreads()];

export default defineConfig({
  test: {
    globalSetup: "test/setup/build-host.ts",
    // The limits end what hangs. A busy machine is no reason to fail, so they are far from what anything takes.
    // vitest leaves one core idle by itself; these tests mostly wait for processes, disks and paces.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        plugins,
        // Tests beside the code share one module graph per worker: they keep no global state.
        test: {
          name: "unit",
          setupFiles: "test/setup/fixed-seed.ts",
          include: [`${sources}/**/*.test.{ts,tsx}`],
          exclude: [needsPostgres, suites],
          pool: "threads",
          isolate: false,
          hookTimeout: 60_000,
          testTimeout: 60_000,
          expect: { poll: { timeout: 30_000 } },
        },
      },
      {
        plugins,
        test: {
          name: "postgres",
          setupFiles: "test/setup/fixed-seed.ts",
          include: [needsPostgres],
          globalSetup: [
            "packages/testing/src/postgres/start-postgres.ts",
            "test/setup/build-page.ts",
          ],
          pool: "forks",
          isolate: false,
          testTimeout: 90_000,
          expect: { poll: { timeout: 40_000 } },
          hookTimeout: 90_000,
        },
      },
      {
        plugins,
        test: {
          name: "e2e",
          setupFiles: "test/setup/fixed-seed.ts",
          include: ["test/**/*.test.ts"],
          exclude: [needsPostgres],
          globalSetup: "test/setup/build-page.ts",
          pool: "forks",
          isolate: false,
          testTimeout: 90_000,
          expect: { poll: { timeout: 40_000 } },
          hookTimeout: 90_000,
        },
      },
    ],
    coverage: {
      include: ["packages/*/src/**/*.{ts,tsx}"],
      exclude: ["**/*.test.{ts,tsx}", "packages/testing/**"],
      reporter: ["text-summary", "html"],
    },
  },
});
