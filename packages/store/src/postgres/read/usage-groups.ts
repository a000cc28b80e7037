import type { UsageGroup, UsageGroupQuery } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";

import { largestFirst, usageGroupRow, usageSums } from "../../shared/usage-group.ts";
import { statement } from "../connection.ts";
import type { ReaderPool } from "./reader-pool.ts";

const sums = usageSums("greatest");
const inTime = "u.owner_id = $1 AND u.at >= $2 AND u.at < $3";

/** Aggregates can't be ordered by in an expression by their names, so the order is outside. */
const ordered = (groups: string) => `SELECT * FROM (${groups}) g ${largestFirst} LIMIT $4`;

// Each day is one range of the index by time.
const byDay = statement(
  "usage_by_day",
  `SELECT d.n - 1 AS "key", u.*
     FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS d (from_at, to_at, n)
     CROSS JOIN LATERAL (
       SELECT ${sums} FROM usage u
        WHERE u.owner_id = $1 AND u.at >= d.from_at AND u.at < d.to_at HAVING count(*) > 0) u
    ORDER BY d.n`,
);
const byModel = statement(
  "usage_by_model",
  ordered(`SELECT u.model AS "key", ${sums} FROM usage u WHERE ${inTime} GROUP BY u.model`),
);
const bySession = statement(
  "usage_by_session",
  ordered(
    `SELECT u.session_id AS "key", ${sums} FROM usage u WHERE ${inTime} GROUP BY u.session_id`,
  ),
);
const byClient = statement(
  "usage_by_client",
  ordered(
    `SELECT split_part(substr(i.client_id, length($5) + 1), ':', 1) AS "key", ${sums}
       FROM usage u JOIN inputs i ON i.session_id = u.session_id AND i.run_id = u.run_id
        AND i.client_id >= $5 AND i.client_id < $6
      WHERE ${inTime} GROUP BY 1`,
  ),
);

export async function readUsageGroups(
  pool: ReaderPool,
  owner: OwnerId,
  query: UsageGroupQuery,
): Promise<readonly UsageGroup[]> {
  const rows = await readRows(pool, owner, query);
  return rows.map((row) => usageGroupRow.parse(row));
}

function readRows(pool: ReaderPool, owner: OwnerId, query: UsageGroupQuery) {
  if (query.by === "day") {
    const { days } = query;
    return pool.rows(byDay, [owner, days.map(({ from }) => from), days.map(({ to }) => to)]);
  }
  const values = [owner, query.within.from, query.within.to, query.limit];
  switch (query.by) {
    case "model":
      return pool.rows(byModel, values);
    case "session":
      return pool.rows(bySession, values);
    case "client":
      return pool.rows(byClient, [...values, query.prefix, `${query.prefix}\u{10FFFF}`]);
  }
}
