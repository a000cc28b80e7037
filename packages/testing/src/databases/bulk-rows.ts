import type { Growth } from "../contracts/test-database.ts";
import { rowsOfSession, type SqlAccess } from "./store-address.ts";

/** The columns of a row, without generated ones. */
async function columnsOf(database: SqlAccess, table: string): Promise<readonly string[]> {
  const rows = await database.query(
    database.address.kind === "sqlite"
      ? `SELECT name FROM pragma_table_xinfo('${table}') WHERE hidden = 0 AND pk = 0 AND name <> 'pos'`
      : `SELECT column_name AS name FROM information_schema.columns
          WHERE table_name = '${table}' AND is_generated = 'NEVER'`,
  );
  return rows.map(({ name }) => String(name));
}

/** `count` copies of the rows that match `where`; `changes` are expressions over the copy's number `n`. */
async function copyRows(
  database: SqlAccess,
  table: string,
  where: string,
  count: number,
  changes: Readonly<Record<string, string>>,
): Promise<void> {
  const columns = await columnsOf(database, table);
  const series =
    database.address.kind === "sqlite"
      ? `(WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${count}) SELECT n FROM c) c`
      : `generate_series(1, ${count}) AS c (n)`;
  await database.query(`
    INSERT INTO ${table} (${columns.join(", ")})
    SELECT ${columns.map((column) => changes[column] ?? column).join(", ")}
      FROM ${table}, ${series} WHERE ${where}`);
}

/** An id that no store generates. */
function numberedId(database: SqlAccess, prefix: string): string {
  return database.address.kind === "sqlite"
    ? `printf('${prefix}_%026d', n)`
    : `'${prefix}_' || lpad(n::text, 26, '0')`;
}

/** Adds many copies of this session, bypassing the store: its rules aren't under test here. */
async function copySession(database: SqlAccess, session: string, count: number): Promise<void> {
  const id = numberedId(database, "ses");
  const changes = { id, session_id: id, sort_at: "sort_at - n", touched_at: "NULL" };
  await copyRows(database, "sessions", `id = '${session}'`, count, changes);
  if (database.address.kind === "postgres")
    await copyRows(database, "heads", `session_id = '${session}'`, count, changes);
}

/** Gives many of the added sessions the rows that a running session has besides its log. */
async function copyRuns(database: SqlAccess, session: string, count: number): Promise<void> {
  const session_id = numberedId(database, "ses");
  const ids: Readonly<Record<string, string>> = {
    fences: "",
    leases: "",
    runs: numberedId(database, "run"),
    deltas: numberedId(database, "evt"),
  };
  for (const [table, id] of Object.entries(ids))
    await copyRows(database, table, `session_id = '${session}'`, count, { session_id, id });
}

/** As in a database in use: the planner has statistics, and search has indexed everything so far. */
async function analyzePostgres(database: SqlAccess): Promise<void> {
  await database.query(`
    INSERT INTO search_state (session_id, indexed_seq) SELECT session_id, head FROM heads
    ON CONFLICT (session_id) DO UPDATE SET indexed_seq = excluded.indexed_seq`);
  await database.query("ANALYZE");
}

/** Breaks the checksums, so that any read of one reports damage. */
export async function damageMessages(
  database: SqlAccess,
  session: string,
  upTo: number,
): Promise<void> {
  const its = rowsOfSession(database.address.kind, session);
  await database.query(
    `UPDATE events SET sum = 0 WHERE ${its} AND type = 'message.user' AND seq <= ${upTo}`,
  );
}

/** Repeats the last entry of a session `count` times. */
async function copyLastMessage(database: SqlAccess, session: string, count: number): Promise<void> {
  const its = rowsOfSession(database.address.kind, session);
  const last = `${its} AND seq = (SELECT max(seq) FROM events WHERE ${its})`;
  await copyRows(database, "events", last, count, {
    seq: "seq + n",
    id: numberedId(database, "evt"),
    unordered: "NULL",
  });
  // While a run is live SQLite stores the head separately.
  const heads =
    database.address.kind === "sqlite"
      ? [
          `sessions SET head = head + ${count} WHERE id = '${session}'`,
          `live SET head = head + ${count} WHERE ${its}`,
        ]
      : [`heads SET head = head + ${count} WHERE ${its}`];
  for (const head of heads) await database.query(`UPDATE ${head}`);
}

export async function growDatabase(
  database: SqlAccess,
  { sessions, messages, runs }: Growth,
): Promise<void> {
  await copySession(database, sessions.like, sessions.count);
  await copyLastMessage(database, messages.in, messages.count);
  // Otherwise the planner would rather scan these few rows than use an index.
  if (database.address.kind === "postgres") {
    await copyRuns(database, runs.like, runs.count);
    await analyzePostgres(database);
  }
}
