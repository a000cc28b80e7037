import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import type { Store } from "@holdfast/engine";
import { Client } from "pg";

import { openPostgresStore, openSqliteStore } from "@holdfast/store";

/** Where a store's data is: all that another process needs to open it. */
export type StoreAddress =
  | { readonly kind: "sqlite"; readonly file: string }
  | { readonly kind: "postgres"; readonly url: string };

export interface OpenOptions {
  /** Milliseconds added to the store's clock. */
  readonly clockOffset?: () => number;
  /** PostgreSQL: how long search waits before it reads what is new. */
  readonly indexAfterMs?: number;
  /** SQLite: a module that sees every statement before it runs. */
  readonly probeModule?: string;
  /** SQLite: how long its write-ahead log may become. */
  readonly checkpointPages?: number;
  /** SQLite: called with rows that can't be decoded. */
  readonly onDamage?: (damage: { readonly seq: number }) => void;
}

export function openStoreAt(address: StoreAddress, options: OpenOptions = {}): Promise<Store> {
  const { clockOffset, indexAfterMs } = options;
  if (address.kind === "sqlite")
    return openSqliteStore({ file: address.file, reader: "when asked", ...options });
  return openPostgresStore({
    url: address.url,
    ...(clockOffset && { clockOffset }),
    ...(indexAfterMs !== undefined && { indexAfterMs }),
  });
}

export type RawRow = Readonly<Record<string, unknown>>;

/** A database for one test. */
export interface TestDatabase {
  readonly address: StoreAddress;
  /** Bypasses the store, to inspect raw rows and to damage them. */
  readonly query: (sql: string) => Promise<readonly RawRow[]>;
  readonly drop: () => Promise<void>;
}

export interface TestDatabaseFactory {
  readonly name: StoreAddress["kind"];
  readonly create: () => Promise<TestDatabase>;
}

export const sqliteDatabase: TestDatabaseFactory = {
  name: "sqlite",
  async create() {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-contract-"));
    const file = join(folder, "store.db");
    return {
      address: { kind: "sqlite", file },
      async query(sql) {
        const database = new DatabaseSync(file, { timeout: 5_000 });
        try {
          return database.prepare(sql).all();
        } finally {
          database.close();
        }
      },
      async drop() {
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};

/** Only PostgreSQL tests have a server, so they pass in how to create a database. */
export function postgresDatabase(
  createDatabase: () => Promise<AsyncDisposable & { readonly url: string }>,
): TestDatabaseFactory {
  return {
    name: "postgres",
    async create() {
      const database = await createDatabase();
      return {
        address: { kind: "postgres", url: database.url },
        async query(sql) {
          const client = new Client({ connectionString: database.url });
          await client.connect();
          try {
            return (await client.query<Record<string, unknown>>(sql)).rows;
          } finally {
            await client.end();
          }
        },
        async drop() {
          await database[Symbol.asyncDispose]();
        },
      };
    },
  };
}
