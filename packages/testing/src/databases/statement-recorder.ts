import { readFileSync, writeFileSync } from "node:fs";

import type { ObservedStore } from "../contracts/test-database.ts";
import type { SqlQuery } from "./store-address.ts";

export interface StatementRecorder {
  /** Pass this to the store. */
  readonly probeModule: string;
  /** What ran since the last call. */
  take(): readonly string[];
}

/** Records the statements of a store's writer in this file. */
export function recordStatements(file: string): StatementRecorder {
  const probeModule = new URL("./statement-recorder-probe.ts", import.meta.url);
  probeModule.searchParams.set("to", file);
  writeFileSync(file, "");
  return {
    probeModule: probeModule.href,
    take() {
      const lines = readFileSync(file, "utf8").split("\n").filter(isWork);
      writeFileSync(file, "");
      return lines;
    },
  };
}

/** The writer checkpoints after its reply; whether it has done so yet doesn't matter here. */
function isWork(line: string): boolean {
  return line !== "" && !line.startsWith("PRAGMA wal_checkpoint");
}

/** On SQLite the writer's statements show which tables it writes to. */
export function observeStatements(recorder: StatementRecorder): ObservedStore["observe"] {
  return async () => {
    recorder.take();
    return async () => [...tablesWritten(recorder.take())].toSorted();
  };
}

function tablesWritten(statements: readonly string[]): ReadonlySet<string> {
  const writes = /^(?:INSERT(?: OR REPLACE)? INTO|UPDATE|DELETE FROM) (\w+)/;
  return new Set(statements.flatMap((sql) => writes.exec(sql)?.[1] ?? []));
}

/** Search follows the log at its own pace and doesn't count. */
const isSearch = /search|index/;

/** On PostgreSQL each row has the id of the transaction that wrote it. */
export function observeRows(query: SqlQuery): ObservedStore["observe"] {
  return async () => {
    const found = await query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
    const tables = found
      .map(({ tablename }) => String(tablename))
      .filter((table) => !isSearch.test(table));
    const read = () =>
      Promise.all(
        tables.map(async (table) =>
          JSON.stringify(await query(`SELECT xmin::text, ctid::text FROM ${table} ORDER BY ctid`)),
        ),
      );
    let before = await read();
    return async () => {
      const now = await read();
      const written = tables.filter((_, index) => now[index] !== before[index]);
      before = now;
      return written.toSorted();
    };
  };
}
