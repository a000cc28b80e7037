import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { countOnSqlite } from "./database-work.ts";
import { holdByFile, holdOptions, overtakeByFile } from "./held-writes.ts";
import { identity, spills } from "./host-parts.ts";
import { createCommonParts, type SqlDatabaseFactory, startSqlPeer } from "./sql-database.ts";
import { observeStatements, recordStatements } from "./statement-recorder.ts";
import { openStoreAt, type SqlQuery } from "./store-address.ts";

export const sqliteDatabase: SqlDatabaseFactory = {
  name: "sqlite",
  identity,
  spills,
  async create() {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-contract-"));
    const file = join(folder, "store.db");
    const address = { kind: "sqlite", file } as const;
    const query: SqlQuery = async (sql) => {
      const database = new DatabaseSync(file, { timeout: 5_000 });
      try {
        return database.prepare(sql).all();
      } finally {
        database.close();
      }
    };
    return {
      ...createCommonParts({ address, query }),
      startHoldablePeer: () => startSqlPeer("process", { address, ...holdOptions(file) }),
      holdWrites: () => holdByFile(file),
      overtakeWrite: overtakeByFile(file),
      async openObserved(options = {}) {
        const recorder = recordStatements(`${file}.statements`);
        const { probeModule } = recorder;
        const store = await openStoreAt(address, { ...options, probeModule });
        return { store, observe: observeStatements(recorder) };
      },
      checkpointTables: ["deltas", "events", "live", "runs", "usage"],
      listRows: () =>
        Promise.all([
          query("SELECT * FROM sessions ORDER BY id"),
          query("SELECT * FROM session_tags ORDER BY tag, shelf"),
        ]),
      async failWritesWith(text) {
        await query(`
          CREATE TRIGGER fail_text BEFORE INSERT ON events WHEN NEW.data LIKE '%${text}%'
            BEGIN SELECT RAISE(ABORT, 'failed'); END`);
      },
      countWork: () => countOnSqlite(file, query),
      async drop() {
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};
