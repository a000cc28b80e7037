import type { DatabaseSync } from "node:sqlite";
import { getEnvironmentData } from "node:worker_threads";

import { installProbe } from "../../src/sqlite/connection.ts";

/** Shared with the test: the number of commits, and how many of them SQLite was told to sync. */
const shared = getEnvironmentData("holdfast.sync-probe");
const counts = new Int32Array(
  shared instanceof SharedArrayBuffer ? shared : new SharedArrayBuffer(8),
);

const ask = (database: DatabaseSync, name: string): unknown =>
  database.prepare(`PRAGMA ${name}`).get()?.[name];

installProbe((sql, database) => {
  if (sql !== "COMMIT") return;
  const isSynced = ask(database, "synchronous") === 2 && ask(database, "journal_mode") === "wal";
  Atomics.add(counts, 0, 1);
  if (isSynced) Atomics.add(counts, 1, 1);
});
