import { StatementSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";

import type { UseStore, WorkCounter } from "../contracts/test-database.ts";
import { recordStatements } from "./statement-recorder.ts";
import { openStoreAt, type SqlQuery } from "./store-address.ts";

export interface ReadCounter {
  /** The statements that this thread has sent to SQLite since the last call, and the number of rows returned. */
  take(): { readonly statements: readonly string[]; readonly rows: number };
  stop(): void;
}

type ReadMethod<Found> = (this: StatementSync, ...values: unknown[]) => Found;

interface ReadMethods {
  all: ReadMethod<unknown[]>;
  get: ReadMethod<unknown>;
  iterate: ReadMethod<Iterable<unknown>>;
}

/** Counts the reads that a store does on its caller's thread, in the driver: nothing can bypass it. */
export function countReads(): ReadCounter {
  const driver = StatementSync.prototype as unknown as ReadMethods;
  const { all, get, iterate } = driver;
  let statements: string[] = [];
  let rows = 0;
  const watched: ReadMethods = {
    all(...values) {
      statements.push(this.sourceSQL);
      const found = all.apply(this, values);
      rows += found.length;
      return found;
    },
    get(...values) {
      statements.push(this.sourceSQL);
      const found = get.apply(this, values);
      if (found !== undefined) rows += 1;
      return found;
    },
    *iterate(...values) {
      statements.push(this.sourceSQL);
      for (const found of iterate.apply(this, values)) {
        rows += 1;
        yield found;
      }
    },
  };
  Object.assign(driver, watched);
  return {
    take() {
      const taken = { statements, rows };
      statements = [];
      rows = 0;
      return taken;
    },
    stop: () => void Object.assign(driver, { all, get, iterate }),
  };
}

/** Counts statements, pages written to the write-ahead log, rows returned, and lines of plans that scan or sort. */
export async function countOnSqlite(file: string, query: SqlQuery): Promise<WorkCounter> {
  const address = { kind: "sqlite", file } as const;
  const recorder = recordStatements(`${file}.statements`);
  const { probeModule } = recorder;
  const store = await openStoreAt(address, { probeModule, checkpointPages: 10_000_000 });
  const other = await openStoreAt(address, { checkpointPages: 10_000_000 });
  const reads = countReads();
  const pages = async () => {
    const [row] = await query("PRAGMA wal_checkpoint(NOOP)");
    return Number(row?.["log"]);
  };
  return {
    async count(work) {
      const before = await pages();
      recorder.take();
      reads.take();
      await work(store);
      const written = recorder.take();
      const read = reads.take();
      const touched = (await pages()) - before + read.rows;
      const scanned = await scansIn(query, new Set([...written, ...read.statements]));
      return { writes: written.length + read.statements.length, touched, scanned };
    },
    prepare: (work) => work(other),
    async close() {
      reads.stop();
      await Promise.all([store.close(), other.close()]);
    },
  };
}

async function scansIn(
  query: SqlQuery,
  statements: ReadonlySet<string>,
): Promise<readonly string[]> {
  const scans: string[] = [];
  for (const sql of statements) {
    if (!/^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)/.test(sql)) continue;
    for (const { detail } of await query(`EXPLAIN QUERY PLAN ${sql}`))
      // A page subquery is scanned too; how it was read has its own line.
      if (/^(SCAN (?!CONSTANT|page$)|USE TEMP B-TREE)/.test(String(detail)))
        scans.push(String(detail));
  }
  return scans;
}

/** Of all tables, by name. */
const rowsOf = `
  SELECT relname AS name, n_tup_ins + n_tup_upd + n_tup_del AS written,
         seq_tup_read AS scanned, coalesce(idx_tup_fetch, 0) AS fetched
    FROM pg_stat_user_tables`;

interface RowCounts {
  readonly written: number;
  readonly scanned: number;
  readonly fetched: number;
}

/**
 * Counts rows written and read, and the tables that were scanned.
 *
 * A connection reports its statistics when it ends, or some seconds later: so each piece of work gets its own store,
 * and no other may be open meanwhile.
 */
export function countOnPostgres(server: string, query: SqlQuery): WorkCounter {
  const url = new URL(server);
  url.searchParams.set("application_name", "counted");
  const waitUntilDisconnected = async () => {
    const open = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'counted'";
    while ((await query(open)).length > 0) await wait(5);
  };
  async function prepare<Result>(work: UseStore<Result>): Promise<Result> {
    // Search indexes at its own pace, not with a write: while counting, not at all.
    const store = await openStoreAt(
      { kind: "postgres", url: url.href },
      { indexAfterMs: 3_600_000 },
    );
    try {
      return await work(store);
    } finally {
      await store.close();
      await waitUntilDisconnected();
    }
  }
  return {
    prepare,
    async count(work) {
      const before = await rowsByTable(query);
      await prepare(work);
      const after = await rowsByTable(query);
      const growth = (name: string, of: keyof RowCounts) =>
        (after.get(name)?.[of] ?? 0) - (before.get(name)?.[of] ?? 0);
      const sum = (of: keyof RowCounts) =>
        countedTables.reduce((all, name) => all + growth(name, of), 0);
      return {
        writes: sum("written"),
        touched: sum("scanned") + sum("fetched"),
        scanned: [...after.keys()].filter(
          (name) => !ignoredTables.has(name) && growth(name, "scanned") > 0,
        ),
      };
    },
    close: async () => undefined,
  };
}

/** The tables that are counted: the others have a row or two per row of these. */
const countedTables = ["sessions", "events"];
/** Tables that grow with neither, and those of search, which works at its own pace. */
const ignoredTables: ReadonlySet<string> = new Set([
  "holdfast_migrations",
  "heads",
  "search_queue",
  "search_state",
  "search_texts",
]);

async function rowsByTable(query: SqlQuery): Promise<ReadonlyMap<string, RowCounts>> {
  const rows = await query(rowsOf);
  return new Map(
    rows.map(({ name, written, scanned, fetched }) => [
      String(name),
      { written: Number(written), scanned: Number(scanned), fetched: Number(fetched) },
    ]),
  );
}
