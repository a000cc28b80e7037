import type { WorkQuery } from "@holdfast/engine";
import type { OwnerId, RunId } from "@holdfast/protocol";
import { z } from "zod";
import { usage } from "../../schema/tables.ts";
import { statement } from "../connection.ts";
import { columnsOf } from "../rows.ts";
import type { ReaderPool } from "./reader-pool.ts";

const totals = `
  SELECT coalesce(sum(u.input), 0)::bigint AS "input", coalesce(sum(u.output), 0)::bigint AS "output",
         coalesce(sum(u.cache_read), 0)::bigint AS "cacheRead", coalesce(sum(u.cache_write), 0)::bigint AS "cacheWrite",
         coalesce(sum(u.cost_micros), 0)::bigint AS "costMicros", count(*) AS "calls"`;

// A semicolon is the character after the colon that ends an id in a lane.
const ofSession = statement(
  "usage_of_session_tree",
  `WITH RECURSIVE tree(id) AS (
     SELECT $3::text COLLATE "C"
     UNION
     SELECT l.session_id FROM tree
       JOIN lanes l ON l.owner_id = $1
        AND l.lane >= $4 || tree.id || ':' AND l.lane < $4 || tree.id || ';'
   )
   ${totals} FROM tree JOIN usage u ON u.session_id = tree.id
    WHERE u.owner_id = $1 AND u.at >= $2`,
);

// Only the messages of sessions with usage in that time are looked at. Runs that continue others are few.
const ofClient = statement(
  "usage_of_client",
  `WITH RECURSIVE
   used(id) AS MATERIALIZED (
     SELECT DISTINCT u.session_id FROM usage u WHERE u.owner_id = $1 AND u.at >= $2
   ),
   continued(run_id, continues) AS MATERIALIZED (
     SELECT r.id, r.continues FROM used JOIN runs r ON r.session_id = used.id
      WHERE r.continues IS NOT NULL
   ),
   work(run_id, id) AS (
     SELECT i.run_id, used.id FROM used
       JOIN inputs i ON i.session_id = used.id AND i.client_id >= $3 AND i.client_id < $4
     UNION
     SELECT next.run_id, next.id FROM work CROSS JOIN LATERAL (
       SELECT c.run_id, work.id FROM continued c WHERE c.continues = work.run_id
       UNION ALL
       SELECT i.run_id, i.session_id FROM lanes l
         JOIN inputs i ON i.session_id = l.session_id
          AND i.client_id = substr(l.lane, length($5 || work.id || ':' || work.run_id || ':') + 1)
        WHERE l.owner_id = $1
          AND l.lane >= $5 || work.id || ':' || work.run_id || ':'
          AND l.lane < $5 || work.id || ':' || work.run_id || ';'
     ) next
   ),
   own(id) AS (
     SELECT DISTINCT work.id FROM work
      WHERE work.run_id = (SELECT i.run_id FROM inputs i WHERE i.session_id = work.id ORDER BY i.seq LIMIT 1)
   )
   ${totals} FROM (
     SELECT ${columnsOf(usage, "u")} FROM work JOIN usage u ON u.run_id = work.run_id
     UNION ALL
     SELECT ${columnsOf(usage, "u")} FROM own JOIN usage u ON u.session_id = own.id AND u.run_id IS NULL
   ) u WHERE u.owner_id = $1 AND u.at >= $2`,
);

export async function readUsageOfWork(
  pool: ReaderPool,
  owner: OwnerId,
  { childLanes, since = 0, ...whose }: WorkQuery,
): Promise<unknown> {
  if ("session" in whose) {
    const [row] = await pool.rows(ofSession, [owner, since, whose.session, childLanes]);
    return row;
  }
  const { clientPrefix: from } = whose;
  const values = [owner, since, from, `${from}\u{10FFFF}`, childLanes];
  const [row] = await pool.rows(ofClient, values);
  return row;
}

const senderOf = statement(
  "sender_of",
  `WITH RECURSIVE chain(id, session_id, continues) AS (
     SELECT r.id, r.session_id, r.continues FROM runs r JOIN sessions s ON s.id = r.session_id
      WHERE r.id = $2 AND s.owner_id = $1
     UNION
     SELECT r.id, r.session_id, r.continues FROM chain JOIN runs r ON r.id = chain.continues
   )
   SELECT i.client_id FROM chain JOIN inputs i ON i.session_id = chain.session_id AND i.run_id = chain.id
    WHERE chain.continues IS NULL ORDER BY i.seq LIMIT 1`,
);

export async function readSender(
  pool: ReaderPool,
  owner: OwnerId,
  run: RunId,
): Promise<string | null> {
  const [row] = await pool.rows(senderOf, [owner, run]);
  return row === undefined ? null : z.string().parse(row["client_id"]);
}
