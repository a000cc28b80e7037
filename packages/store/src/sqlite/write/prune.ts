import type { Connection } from "../connection.ts";
import { deleteExpiredRequests } from "./keep-request.ts";
import { deleteUnreferencedBlobs } from "./write-blob.ts";

const settledChainSql = `
  WITH RECURSIVE chain (pos, prev) AS (
    SELECT pos, prev FROM deltas WHERE pos = ?
    UNION ALL
    SELECT d.pos, d.prev FROM chain JOIN deltas d ON d.pos = chain.prev
    LIMIT ? + 0
  )
  SELECT pos, prev FROM chain`;

/** Deletes settled deltas from the end of their chains, and blobs that nobody names: never more than `limit` rows. */
export function pruneRows(connection: Connection, limit: number, now: number): number {
  let left = limit;
  while (left > 0) {
    const chain = connection
      .sql("SELECT last_delta, session_key FROM settled_chains LIMIT 1")
      .get();
    if (chain === undefined) break;
    left -= pruneChain(connection, Number(chain["last_delta"]), Number(chain["session_key"]), left);
  }
  if (left > 0) left -= deleteUnreferencedBlobs(connection, left, now);
  if (left > 0) left -= deleteExpiredRequests(connection, left, now);
  return limit - left;
}

function pruneChain(connection: Connection, last: number, session: number, limit: number): number {
  const rows = connection.sql(settledChainSql).all(last, limit);
  const drop = connection.sql("DELETE FROM deltas WHERE pos = ?");
  for (const row of rows) drop.run(Number(row["pos"]));
  const rest = rows.at(-1)?.["prev"] ?? null;
  connection.sql("DELETE FROM settled_chains WHERE last_delta = ?").run(last);
  if (rest !== null)
    connection.sql("INSERT INTO settled_chains VALUES (?, ?)").run(Number(rest), session);
  return rows.length;
}
