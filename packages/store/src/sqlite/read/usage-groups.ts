import type { UsageGroup, UsageGroupQuery } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";

import { largestFirst, usageGroupRow, usageSums } from "../../shared/usage-group.ts";
import type { Connection } from "../connection.ts";

const sums = usageSums("max");
const inTime = "u.owner_id = ?1 AND u.at >= ?2 AND u.at < ?3";

// Each day is one range of the index by time.
const byDay = `
  SELECT d.key AS "key", ${sums}
    FROM json_each(?2) d CROSS JOIN usage u
      ON u.owner_id = ?1 AND u.at >= d.value ->> 'from' AND u.at < d.value ->> 'to'
   GROUP BY d.key ORDER BY d.key`;

const byColumn = (column: "model" | "session_id") => `
  SELECT u.${column} AS "key", ${sums} FROM usage u INDEXED BY usage_by_time WHERE ${inTime}
   GROUP BY u.${column} ${largestFirst} LIMIT ?4`;

// Only the messages of sessions with usage in that time are looked at, and their runs are found by an index.
const byClient = `
  SELECT substr(i.client_id, ?5, instr(substr(i.client_id, ?5) || ':', ':') - 1) AS "key", ${sums}
    FROM (SELECT DISTINCT u.session_id FROM usage u INDEXED BY usage_by_time WHERE ${inTime}) used
    CROSS JOIN sessions s ON s.id = used.session_id
    CROSS JOIN inputs i ON i.session_key = s.key AND i.client_id >= ?6 AND i.client_id < ?7
    CROSS JOIN usage u INDEXED BY usage_by_run ON u.run_id = i.run_id
   WHERE +u.owner_id = ?1 AND +u.at >= ?2 AND +u.at < ?3
   GROUP BY "key" ${largestFirst} LIMIT ?4`;

export function readUsageGroups(
  connection: Connection,
  owner: OwnerId,
  query: UsageGroupQuery,
): UsageGroup[] {
  return rowsOf(connection, owner, query).map((row) => usageGroupRow.parse(row));
}

function rowsOf(connection: Connection, owner: OwnerId, query: UsageGroupQuery) {
  if (query.by === "day") return connection.sql(byDay).all(owner, JSON.stringify(query.days));
  const values = [owner, query.within.from, query.within.to, query.limit];
  switch (query.by) {
    case "model":
      return connection.sql(byColumn("model")).all(...values);
    case "session":
      return connection.sql(byColumn("session_id")).all(...values);
    case "client": {
      const { prefix } = query;
      return connection
        .sql(byClient)
        .all(...values, prefix.length + 1, prefix, `${prefix}\u{10FFFF}`);
    }
  }
}
