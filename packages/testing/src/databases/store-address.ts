import type { Store } from "@holdfast/engine";
import { openPostgresStore, openSqliteStore } from "@holdfast/store";

import type { OpenOptions } from "../contracts/test-database.ts";

/** Where a store's data is: all that another process needs to open it. */
export type StoreAddress =
  | { readonly kind: "sqlite"; readonly file: string }
  | { readonly kind: "postgres"; readonly url: string };

export type RawRow = Readonly<Record<string, unknown>>;
export type SqlQuery = (sql: string) => Promise<readonly RawRow[]>;

/** A database without its store. */
export interface SqlAccess {
  readonly address: StoreAddress;
  /** Bypasses the store, to inspect raw rows and to damage them. */
  readonly query: SqlQuery;
}

export interface StoreOptions extends OpenOptions {
  /** PostgreSQL: how long search waits before it reads what is new. */
  readonly indexAfterMs?: number;
  /** SQLite: a module that sees every statement before it runs. */
  readonly probeModule?: string;
  /** SQLite: how long its write-ahead log may become. */
  readonly checkpointPages?: number;
}

/** The message to a peer that names its store. */
export interface PeerAddress {
  readonly address: StoreAddress;
  readonly probeModule?: string;
}

export function openStoreAt(address: StoreAddress, options: StoreOptions = {}): Promise<Store> {
  const { clockOffset, indexAfterMs } = options;
  if (address.kind === "sqlite")
    return openSqliteStore({ file: address.file, reader: "when asked", ...options });
  return openPostgresStore({
    url: address.url,
    ...(clockOffset && { clockOffset }),
    ...(indexAfterMs !== undefined && { indexAfterMs }),
  });
}

/** A SQL condition for a session's rows in every table except `sessions`. */
export function rowsOfSession(kind: StoreAddress["kind"], session: string): string {
  return kind === "sqlite"
    ? `session_key = (SELECT key FROM sessions WHERE id = '${session}')`
    : `session_id = '${session}'`;
}
