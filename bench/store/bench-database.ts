import type { Store } from "@holdfast/engine";
import { openPostgresStore, openSqliteStore } from "@holdfast/store";

/** How any process reaches a store. */
export type StoreAddress =
  | { readonly kind: "sqlite"; readonly file: string }
  | { readonly kind: "postgres"; readonly url: string };

export interface OpenOptions {
  /** SQLite alone: the write-ahead log is never emptied, so that its length counts what was written. */
  readonly keepLog?: true;
}

export function openStore(address: StoreAddress, options: OpenOptions = {}): Promise<Store> {
  if (address.kind === "postgres") return openPostgresStore({ url: address.url });
  return openSqliteStore({
    file: address.file,
    ...(options.keepLog && { checkpointPages: Number.MAX_SAFE_INTEGER }),
  });
}

/** A database of a workload's own, on the disk that is measured. */
export interface BenchDatabase extends AsyncDisposable {
  readonly address: StoreAddress;
  /** Where baselines may put their files: the same disk. */
  readonly folder: string;
  open(options?: OpenOptions): Promise<Store>;
  /** The driver without Holdfast, in a database of its own beside the store. */
  openBare(log?: BareLog): Promise<BareDriver>;
  /** Minimal queries on the store's own tables. */
  openBareReads(): Promise<BareReads>;
  /** Bytes that went into the write-ahead log so far; grows while the store is open with `keepLog`. */
  walBytes(): Promise<number>;
}

export interface Backend extends AsyncDisposable {
  readonly name: "sqlite" | "postgres";
  createDatabase(): Promise<BenchDatabase>;
  /** A place that begins as `fill` left it; kept between runs where that is possible. */
  prepareDatabase(
    key: string,
    fill: (store: Store) => Promise<PreparedIds>,
  ): Promise<PreparedDatabase>;
}

/** What a workload has to know of a store that was made earlier. */
export type PreparedIds = Readonly<Record<string, readonly string[]>>;
export interface PreparedDatabase {
  readonly database: BenchDatabase;
  readonly known: PreparedIds;
}

/**
 * How the driver finds its write-ahead log: `full`, once grown to its full length, so that it is overwritten (default);
 * `kept`, and never emptied; `found`, as someone else left it.
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
  /** Calls for one page after the other, until there are no more. */
  whole(session: string, pageSize: number): unknown;
}
