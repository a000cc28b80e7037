import type { TestDatabase } from "./test-database.ts";
import { type StatementRecorder, tablesWritten } from "./statement-recorder.ts";

/** Search follows the log at its own pace, and is no part of it. */
const isSearch = /search|index/;

/**
 * Tells which tables were written since it was asked last. SQLite's writer says so itself; on PostgreSQL each row has the number of
 * the transaction that wrote it.
 */
export async function watchWrittenTables(
  database: TestDatabase,
  recorder: StatementRecorder | undefined,
): Promise<() => Promise<readonly string[]>> {
  if (recorder !== undefined) {
    recorder.take();
    return async () => [...tablesWritten(recorder.take())].toSorted();
  }
  const tables = (
    await database.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
  )
    .map(({ tablename }) => String(tablename))
    .filter((table) => !isSearch.test(table));
  const read = () =>
    Promise.all(
      tables.map(async (table) =>
        JSON.stringify(
          await database.query(`SELECT xmin::text, ctid::text FROM ${table} ORDER BY ctid`),
        ),
      ),
    );
  let before = await read();
  return async () => {
    const now = await read();
    const written = tables.filter((_, index) => now[index] !== before[index]);
    before = now;
    return written.toSorted();
  };
}
