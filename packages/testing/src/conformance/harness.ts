import { type Store, runFsck } from "@holdfast/engine";

/** A store under test, and what a test may do with it. */
export interface StoreHarness {
  readonly store: Store;
  /** A second handle on the same data, like another process's. The caller closes it. */
  readonly open: () => Promise<Store>;
  /** Shifts the store's clock for every handle, backwards too. */
  readonly advanceClock: (ms: number) => Promise<void>;
  /** Problems with the stored data; ideally none. */
  readonly fsck?: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

/**
 * One rule of the port. A case uses its own owners and sessions, so that many can share a database, and throws when
 * the rule is broken. It doesn't depend on a test runner.
 */
export interface StoreCase {
  readonly title: string;
  readonly run: (harness: StoreHarness) => Promise<void>;
}

/** Describes what is wrong with the stored data; ideally nothing. */
export async function fsckFindings(store: Store): Promise<readonly string[]> {
  const { found, failure } = await runFsck(store.audit, { now: await store.now() });
  const findings = found.map(
    ({ code, table, key, message }) => `${code} ${table} ${key}: ${message}`,
  );
  return failure === undefined ? findings : [...findings, failure];
}
