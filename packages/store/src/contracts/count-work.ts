import { setTimeout as wait } from "node:timers/promises";

import type { Store } from "@holdfast/engine";

import { openPlace, type TestDatabase } from "./database.ts";
import { recordStatements } from "./record-statements.ts";

/** What a piece of work made the database do, by counts that are the same on a fast machine and on a slow one. */
export interface Work {
  /** SQLite: statements that were run. PostgreSQL: rows that were written. */
  readonly writes: number;
  /** SQLite: pages that went to the write-ahead log. PostgreSQL: rows that were read. */
  readonly touched: number;
  /** SQLite: statements that read a table from its beginning. PostgreSQL: rows that were read so. */
  readonly scanned: number;
}

export type CountWork = (work: (store: Store) => Promise<unknown>) => Promise<Work>;

/** The store that is counted is one of its own, opened by this; `close` closes it. */
export interface Counter {
  readonly count: CountWork;
  readonly close: () => Promise<void>;
}

export async function countOnSqlite(database: TestDatabase): Promise<Counter> {
  const { place } = database;
  if (place.kind !== "sqlite") throw new Error("another counter counts there");
  const recorder = recordStatements(`${place.file}.statements`);
  const { probeModule } = recorder;
  const store = await openPlace(place, { probeModule, checkpointPages: 10_000_000 });
  const pages = async () => {
    const [row] = await database.query("PRAGMA wal_checkpoint(NOOP)");
    return Number(row?.["log"]);
  };
  return {
    async count(work) {
      const before = await pages();
      recorder.take();
      await work(store);
      const statements = recorder.take();
      const touched = (await pages()) - before;
      const scanned = await countScans(database, new Set(statements));
      return { writes: statements.length, touched, scanned };
    },
    close: () => store.close(),
  };
}

async function countScans(
  database: TestDatabase,
  statements: ReadonlySet<string>,
): Promise<number> {
  let scans = 0;
  for (const sql of statements) {
    if (!/^(SELECT|INSERT|UPDATE|DELETE|WITH)/.test(sql)) continue;
    const plan = await database.query(`EXPLAIN QUERY PLAN ${sql}`);
    scans += plan.filter(({ detail }) => /^SCAN (?!CONSTANT)/.test(String(detail))).length;
  }
  return scans;
}

/** Of the two tables that grow. Not the heads: search compares itself with them, at its own pace. */
const rowsOf = `
  SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) AS written,
         sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) AS read,
         sum(seq_tup_read) AS scanned
    FROM pg_stat_user_tables WHERE relname IN ('sessions', 'events')`;

/** A connection reports what it did when it ends, so each piece of work gets a store of its own. */
export function countOnPostgres(database: TestDatabase): Counter {
  const rows = async () => {
    const [row] = await database.query(rowsOf);
    return {
      written: Number(row?.["written"]),
      read: Number(row?.["read"]),
      scanned: Number(row?.["scanned"]),
    };
  };
  const { place } = database;
  if (place.kind !== "postgres") throw new Error("another counter counts there");
  const url = new URL(place.url);
  url.searchParams.set("application_name", "counted");
  const goneAgain = async () => {
    const open = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'counted'";
    while ((await database.query(open)).length > 0) await wait(5);
  };
  return {
    async count(work) {
      const before = await rows();
      const store = await openPlace({ kind: "postgres", url: url.href });
      await work(store);
      await store.close();
      await goneAgain();
      const after = await rows();
      return {
        writes: after.written - before.written,
        touched: after.read - before.read,
        scanned: after.scanned - before.scanned,
      };
    },
    close: async () => undefined,
  };
}
