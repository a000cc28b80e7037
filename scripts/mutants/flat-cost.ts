import type { Mutant } from "./mutant.ts";

const tests = "packages/store/src/contracts/flat-cost.pg.test.ts";
const listOnSqlite = "packages/store/src/sqlite/read/read-list.ts";
const listOnPostgres = "packages/store/src/postgres/read/list.ts";
const loadOnPostgres = "packages/store/src/postgres/write/load.ts";

/** Reads that grow with what is stored, which the tests of flat cost must notice. */
export const costMutants: readonly Mutant[] = [
  {
    line: "P12",
    fault: "on SQLite a page of the list goes through all sessions",
    file: listOnSqlite,
    from: "WHERE ${place}.owner_id = ?",
    to: "WHERE ${place}.owner_id || '' = ?",
    tests,
  },
  {
    line: "P12",
    fault: "on SQLite a page of the list is sorted from all sessions of its owner",
    file: listOnSqlite,
    from: "ORDER BY ${place}.sort_at DESC",
    to: "ORDER BY ${place}.sort_at + 0 DESC",
    tests,
  },
  {
    line: "P12",
    fault: "on PostgreSQL a page of the list goes through all sessions",
    file: listOnPostgres,
    from: '["s.owner_id = $1", "s.shelf = $2"]',
    to: '["s.owner_id || \'\' = $1", "s.shelf = $2"]',
    tests,
  },
  {
    line: "P12",
    fault: "on SQLite a write goes through all sessions for its own",
    file: "packages/store/src/sqlite/session-row.ts",
    from: "FROM ${sessionTables} WHERE s.id = ?`",
    to: "FROM ${sessionTables} WHERE s.id || '' = ?`",
    tests,
  },
  {
    line: "P12",
    fault: "on PostgreSQL a write goes through all events for its own id",
    file: loadOnPostgres,
    from: "SELECT id, session_id, seq, at FROM events WHERE id = ANY($6)",
    to: "SELECT id, session_id, seq, at FROM events WHERE id || '' = ANY($6)",
    tests,
  },
  {
    line: "S3.19",
    fault: "on PostgreSQL a checkpoint goes through all runs for its own",
    file: loadOnPostgres,
    from: "FROM runs x WHERE id = ANY($2)",
    to: "FROM runs x WHERE id || '' = ANY($2)",
    tests,
  },
  {
    line: "S3.19",
    fault: "on SQLite a checkpoint goes through all runs for its own",
    file: "packages/store/src/sqlite/write/write-commit.ts",
    from: "FROM runs r JOIN sessions s ON s.key = r.session_key WHERE r.id = ?`",
    to: "FROM runs r JOIN sessions s ON s.key = r.session_key WHERE r.id || '' = ?`",
    tests,
  },
];
