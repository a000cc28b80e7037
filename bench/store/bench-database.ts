import type { Store } from "@holdfast/engine";
import { openPostgresStore, openSqliteStore } from "@holdfast/store";

import type { BareThread } from "./bare-thread.ts";

/** How any process reaches a store. */
export type StoreAddress =
  | { readonly kind: "sqlite"; readonly file: string }
  | { readonly kind: "postgres"; readonly url: string };

export interface OpenOptions {
  /** SQLite only: the write-ahead log is never reset, so that its length counts what was written. */
  readonly keepLog?: true;
}

export function openStore(address: StoreAddress, options: OpenOptions = {}): Promise<Store> {
  if (address.kind === "postgres") return openPostgresStore({ url: address.url });
  return openSqliteStore({
    file: address.file,
    ...(options.keepLog && { checkpointPages: Number.MAX_SAFE_INTEGER }),
  });
}

/** A database for one workload, on the measured disk. */
export interface BenchDatabase extends AsyncDisposable {
  readonly address: StoreAddress;
  /** Where baselines may put their files: the same disk. */
  readonly folder: string;
  open(options?: OpenOptions): Promise<Store>;
  /** The driver without Holdfast, in its own database beside the store. */
  openBare(log?: BareLog): Promise<BareDriver>;
  /** SQLite only: the same in a thread of its own. */
  readonly openBareThread?: () => Promise<BareThread>;
  /** Minimal queries on the store's own tables. */
  openBareReads(): Promise<BareReads>;
  /** Bytes written to the write-ahead log so far; grows while the store is open with `keepLog`. */
  walBytes(): Promise<number>;
}

export interface Backend extends AsyncDisposable {
  readonly name: "sqlite" | "postgres";
  createDatabase(): Promise<BenchDatabase>;
  /** A database that starts as `fill` left it; kept between runs where possible. */
  prepareDatabase(
    key: string,
    fill: (store: Store) => Promise<PreparedIds>,
  ): Promise<PreparedDatabase>;
}

/** What a workload has to know about a store that was filled earlier. */
export type PreparedIds = Readonly<Record<string, readonly string[]>>;
export interface PreparedDatabase {
  readonly database: BenchDatabase;
  readonly known: PreparedIds;
}

/**
 * The state of the driver's write-ahead log: `full`, once grown to its full length, so that it is overwritten
 * (default); `kept`, never reset; `found`, as someone else left it.
 */
export type BareLog = "full" | "kept" | "found";

export interface BareDriver extends AsyncDisposable {
  /** One row, one transaction, one sync. */
  insert(text: string): unknown;
  /** Many rows, one transaction, one sync. */
  insertGroup(texts: readonly string[]): unknown;
  walBytes(): Promise<number>;
}

export interface BareReads extends AsyncDisposable {
  list(owner: string, limit: number): unknown;
  tail(session: string, limit: number): unknown;
  /** Reads one page after the other, until there are no more. */
  whole(session: string, pageSize: number): unknown;
}
