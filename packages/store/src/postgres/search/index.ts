import { type Search, StoreFailure } from "@holdfast/engine";
import { readFile } from "node:fs/promises";

import { SchemaDamaged } from "../errors.ts";
import type { ReaderPool } from "../read/reader-pool.ts";
import { findHits } from "./search.ts";
import type { Indexer } from "./indexer.ts";

export { Indexer } from "./indexer.ts";

const searchMigration = new URL("../migrations/0003-search.sql", import.meta.url);

export function createSearch(readers: ReaderPool, indexer: Indexer): Search {
  /** Drops the tables, so that damage goes with them, and makes them as the migration did. */
  const makeAgain = async (): Promise<void> => {
    const sql = await readFile(searchMigration, "utf8");
    await indexer.exclusively(() =>
      readers.transaction(async (session) => {
        await session.query({ text: "DROP TABLE IF EXISTS search_texts, search_state" });
        await session.query({ text: sql });
      }),
    );
    await indexer.sweep();
  };
  let rebuilding: Promise<void> | undefined;
  const rebuild = (): Promise<void> =>
    (rebuilding ??= makeAgain().finally(() => (rebuilding = undefined)));

  return {
    async search(owner, query) {
      indexer.sweepIfDue();
      try {
        const found = await findHits(readers, owner, query);
        return { status: "ok", ...found, ...(indexer.isSweeping && { indexing: true }) };
      } catch (error) {
        if (!(error instanceof StoreFailure) || error.code === "store_closed") throw error;
        // An index that cannot be read is made again, while everything else goes on.
        if (error instanceof SchemaDamaged) rebuild().catch(() => undefined);
        return { status: "unavailable", message: error.message };
      }
    },
    settled: () => indexer.sweep(),
    rebuild,
  };
}
