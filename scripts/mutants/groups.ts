/** A part of the product for Stryker to mutate, and the fast tests that must notice. Paths are files or folders. */
export interface Group {
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
  /** The code runs in worker threads, which report no coverage: every mutant is run against all tests. */
  readonly inThreads?: true;
  /** The tests need a PostgreSQL server. */
  readonly onPostgres?: true;
}

/** The one place that names these folders. */
export const groups: Readonly<Record<string, Group>> = {
  log: {
    mutate: ["packages/engine/src/log"],
    tests: ["packages/engine/src/log", "packages/testing/src/reference-store/conformance.test.ts"],
  },
  run: {
    mutate: ["packages/engine/src/run"],
    tests: ["packages/engine/src/run"],
  },
  memory: {
    mutate: ["packages/testing/src/reference-store"],
    tests: ["packages/testing/src/reference-store"],
  },
  sqlite: {
    mutate: ["packages/store/src/sqlite/write"],
    tests: ["packages/store/src/sqlite/write", "packages/store/src/sqlite/conformance.test.ts"],
    inThreads: true,
  },
  postgres: {
    mutate: ["packages/store/src/postgres/write"],
    tests: ["packages/store/test/conformance.pg.test.ts"],
    onPostgres: true,
  },
  reducer: {
    mutate: ["packages/client/src/reducer"],
    tests: ["packages/client/src/reducer"],
  },
  policies: {
    mutate: ["packages/host/src/agent/policy"],
    tests: ["packages/host/src/agent/policy"],
  },
};

/** Globs for the code to mutate. */
export function codeOf({ mutate }: Group): readonly string[] {
  return mutate.map((path) => (path.endsWith(".ts") ? path : `${path}/**/!(*.test).ts`));
}

/** Globs for the test files. */
export function testsOf({ tests }: Group): readonly string[] {
  return tests.map((path) => (path.endsWith(".ts") ? path : `${path}/**/!(*.pg).test.ts`));
}
