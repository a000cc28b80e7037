import { type Store, runFsck } from "@holdfast/engine";

/** A store under test, and what a test may do around it. */
export interface StoreHarness {
  readonly store: Store;
  /** A second handle on the same data, as another process would have one. The one who opens it closes it. */
  readonly open: () => Promise<Store>;
  /** Shifts the store's clock for every handle, also backwards. */
  readonly advanceClock: (ms: number) => Promise<void>;
  /** What is wrong with what is stored; nothing, one hopes. */
  readonly fsck?: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

/**
 * One rule of the port. A case uses owners and sessions of its own, so that many can share a database,
 * and throws when the rule is broken; it knows no test runner.
 */
export interface StoreCase {
  readonly title: string;
  readonly run: (harness: StoreHarness) => Promise<void>;
}

/** What is wrong with what is stored, in words; nothing, one hopes. */
export async function fsckFindings(store: Store): Promise<readonly string[]> {
  const { found, failure } = await runFsck(store.audit, { now: await store.now() });
  const findings = found.map(
    ({ code, table, key, message }) => `${code} ${table} ${key}: ${message}`,
  );
  return failure === undefined ? findings : [...findings, failure];
}
