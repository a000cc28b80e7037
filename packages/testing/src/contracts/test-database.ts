import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import type { Store } from "@holdfast/engine";
import { Client } from "pg";

import { openPostgresStore, openSqliteStore } from "@holdfast/store";

/** Where a store's data is: all that another process needs in order to open it. */
export type StoreAddress =
  | { readonly kind: "sqlite"; readonly file: string }
  | { readonly kind: "postgres"; readonly url: string };

export interface OpenOptions {
  /** Milliseconds that are added to the store's clock. */
  readonly clockOffset?: () => number;
  /** PostgreSQL's: how long search waits before it reads what is new. */
  readonly indexAfterMs?: number;
  /** SQLite's: a module that is told every statement before it runs. */
  readonly probeModule?: string;
  /** SQLite's: how long its write-ahead log may become. */
  readonly checkpointPages?: number;
  /** SQLite's: told about rows that cannot be read. */
  readonly onDamage?: (damage: { readonly seq: number }) => void;
}

export function openStoreAt(place: StoreAddress, options: OpenOptions = {}): Promise<Store> {
  const { clockOffset, indexAfterMs } = options;
  if (place.kind === "sqlite")
    return openSqliteStore({ file: place.file, reader: "when asked", ...options });
  return openPostgresStore({
    url: place.url,
    ...(clockOffset && { clockOffset }),
    ...(indexAfterMs !== undefined && { indexAfterMs }),
  });
}

export type RawRow = Readonly<Record<string, unknown>>;

/** A database of a test's own. */
export interface TestDatabase {
  readonly address: StoreAddress;
  /** Past the store and its rules: to look at rows as they lie there, and to damage them. */
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

/** Only tests of PostgreSQL have a server, so they say how a database is made on it. */
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
