import type { Mutant } from "../mutant.ts";

const tests = "flat-cost.pg.test.ts";

/** Reads that grow with what is stored, which the tests of flat cost must notice. */
export const costMutants: readonly Mutant[] = [
  {
    line: "P12",
    fault: "on SQLite a page of the list goes through all sessions",
    in: "store/listSql",
    text: ".owner_id = ?",
    by: ".owner_id || '' = ?",
    tests,
  },
  {
    line: "P12",
    fault: "on SQLite a page of the list is sorted from all sessions of its owner",
    in: "store/listSql",
    text: ".sort_at DESC",
    by: ".sort_at + 0 DESC",
    tests,
  },
  {
    line: "P12",
    fault: "on PostgreSQL a page of the list goes through all sessions",
    in: "store/listSessions",
    text: "s.owner_id = $1",
    by: "s.owner_id || '' = $1",
    tests,
  },
  {
    line: "P12",
    fault: "on SQLite a write goes through all sessions for its own",
    in: "store/sessionById",
    text: "WHERE s.id = ?",
    by: "WHERE s.id || '' = ?",
    tests,
  },
  {
    line: "P12",
    fault: "on PostgreSQL a write goes through all events for its own id",
    in: "store/loadGroup",
    text: "FROM events WHERE id = ANY($6)",
    by: "FROM events WHERE id || '' = ANY($6)",
    tests,
  },
  {
    line: "S3.19",
    fault: "on PostgreSQL a checkpoint goes through all runs for its own",
    in: "store/loadGroup",
    text: "FROM runs x WHERE id = ANY($2)",
    by: "FROM runs x WHERE id || '' = ANY($2)",
    tests,
  },
  {
    line: "S3.19",
    fault: "on SQLite a checkpoint goes through all runs for its own",
    in: "store/commit.ts/runById",
    text: "WHERE r.id = ?",
    by: "WHERE r.id || '' = ?",
    tests,
  },
];
