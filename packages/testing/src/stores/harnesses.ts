import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { fsckFindings, type StoreHarness } from "../conformance/harness.ts";

import { createReferenceStore } from "../reference-store/store.ts";
import { openPostgresStore, type PostgresOptions, openSqliteStore } from "@holdfast/store";

export interface HarnessFactory {
  readonly name: string;
  /** Each on its own data. */
  readonly open: () => Promise<StoreHarness>;
}

export const referenceHarness: HarnessFactory = {
  name: "memory",
  async open() {
    let now = Date.UTC(2026, 0, 1);
    const store = createReferenceStore({ clock: () => now });
    return {
      store,
      open: async () => store.open(),
      advanceClock: async (ms) => void (now += ms),
      fsck: () => fsckFindings(store),
      close: () => store.close(),
    };
  },
};

export const sqliteHarness: HarnessFactory = {
  name: "sqlite",
  async open() {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-store-"));
    let offset = 0;
    const open = () =>
      openSqliteStore({ file: join(folder, "store.db"), clockOffset: () => offset });
    const store = await open();
    return {
      store,
      open,
      advanceClock: async (ms) => void (offset += ms),
      fsck: () => fsckFindings(store),
      async close() {
        await store.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};

/** On a database that the caller creates, because only PostgreSQL tests have a server. */
export function postgresHarness(
  createDatabase: () => Promise<AsyncDisposable & { readonly url: string }>,
  options: Omit<PostgresOptions, "url" | "clockOffset"> = {},
): HarnessFactory {
  return {
    name: "postgres",
    async open() {
      const database = await createDatabase();
      let offset = 0;
      const open = () =>
        openPostgresStore({ ...options, url: database.url, clockOffset: () => offset });
      const store = await open();
      return {
        store,
        open,
        advanceClock: async (ms) => void (offset += ms),
        async close() {
          await store.close();
          await database[Symbol.asyncDispose]();
        },
      };
    },
  };
}
