/** A part of the product for Stryker to mutate, and the fast tests that must notice. Paths are files or folders. */
export interface Group {
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
  /** The code runs in worker threads, which report no coverage: every mutant is run against all tests. */
  readonly inThreads?: true;
}

/** The one place that names these folders. */
export const groups: Readonly<Record<string, Group>> = {
  log: {
    mutate: ["packages/engine/src/log"],
    tests: ["packages/engine/src/log", "packages/store/src/memory/conformance.test.ts"],
  },
  run: {
    mutate: ["packages/engine/src/run"],
    tests: ["packages/engine/src/run"],
  },
  memory: {
    mutate: ["packages/store/src/memory"],
    tests: ["packages/store/src/memory"],
  },
  sqlite: {
    mutate: ["packages/store/src/sqlite/write"],
    tests: ["packages/store/src/sqlite/write", "packages/store/src/sqlite/conformance.test.ts"],
    inThreads: true,
  },
  reducer: {
    mutate: ["packages/protocol/src/reducer"],
    tests: ["packages/protocol/src/reducer"],
  },
  policies: {
    mutate: ["packages/host/src/policy"],
    tests: ["packages/host/src/policy"],
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
