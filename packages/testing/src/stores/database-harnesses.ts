import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openPostgresStore, type PostgresOptions, openSqliteStore } from "@holdfast/store";

import { fsckFindings } from "../conformance/harness.ts";
import type { HarnessFactory } from "./harnesses.ts";

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
