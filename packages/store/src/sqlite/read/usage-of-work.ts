import type { WorkQuery } from "@holdfast/engine";
import type { OwnerId, RunId } from "@holdfast/protocol";
import type { Connection } from "../connection.ts";
import { text } from "../rows.ts";

const totalsOf = (rows: string) => `
  SELECT coalesce(sum(${rows}.input), 0) AS input, coalesce(sum(${rows}.output), 0) AS output,
         coalesce(sum(${rows}.cache_read), 0) AS cacheRead, coalesce(sum(${rows}.cache_write), 0) AS cacheWrite,
         coalesce(sum(${rows}.cost_micros), 0) AS costMicros, count(*) AS calls`;

// A semicolon is the character after the colon that ends an id in a lane.
const ofSession = `
  WITH RECURSIVE tree(id) AS (
    SELECT ?3
    UNION
    SELECT s.id FROM tree
      CROSS JOIN lanes l ON l.owner_id = ?1
       AND l.lane >= ?4 || tree.id || ':' AND l.lane < ?4 || tree.id || ';'
      CROSS JOIN sessions s ON s.key = l.session_key
  )
  ${totalsOf("u")} FROM tree CROSS JOIN usage u ON u.session_id = tree.id
   WHERE +u.owner_id = ?1 AND +u.at >= ?2`;

// Only the messages of sessions with usage in that time are looked at. Runs that continue others are few.
const ofClient = `
  WITH RECURSIVE
  used(key, id) AS MATERIALIZED (
    SELECT s.key, s.id
      FROM (SELECT DISTINCT u.session_id FROM usage u INDEXED BY usage_by_time WHERE u.owner_id = ?1 AND u.at >= ?2) d
      CROSS JOIN sessions s ON s.id = d.session_id
  ),
  continued(run_id, continues) AS MATERIALIZED (
    SELECT r.id, r.continues FROM used CROSS JOIN runs r ON r.session_key = used.key
     WHERE r.continues IS NOT NULL
  ),
  work(run_id, key, id) AS (
    SELECT i.run_id, used.key, used.id FROM used
      CROSS JOIN inputs i ON i.session_key = used.key AND i.client_id >= ?3 AND i.client_id < ?4
    UNION
    SELECT c.run_id, work.key, work.id FROM work JOIN continued c ON c.continues = work.run_id
    UNION
    SELECT i.run_id, s.key, s.id FROM work
      CROSS JOIN lanes l ON l.owner_id = ?1
       AND l.lane >= ?5 || work.id || ':' || work.run_id || ':'
       AND l.lane < ?5 || work.id || ':' || work.run_id || ';'
      CROSS JOIN sessions s ON s.key = l.session_key
      CROSS JOIN inputs i ON i.session_key = s.key
       AND i.client_id = substr(l.lane, length(?5 || work.id || ':' || work.run_id || ':') + 1)
  ),
  own(id) AS (
    SELECT DISTINCT work.id FROM work
     WHERE work.run_id = (SELECT i.run_id FROM inputs i WHERE i.session_key = work.key ORDER BY i.seq LIMIT 1)
  )
  ${totalsOf("paid")} FROM (
    SELECT u.* FROM work CROSS JOIN usage u INDEXED BY usage_by_run ON u.run_id = work.run_id
    UNION ALL
    SELECT u.* FROM own CROSS JOIN usage u ON u.session_id = own.id AND u.run_id IS NULL
  ) paid WHERE paid.owner_id = ?1 AND paid.at >= ?2`;

export function readUsageOfWork(
  connection: Connection,
  owner: OwnerId,
  { childLanes, since = 0, ...whose }: WorkQuery,
): unknown {
  if ("session" in whose)
    return connection.sql(ofSession).get(owner, since, whose.session, childLanes);
  const { clientPrefix: from } = whose;
  return connection.sql(ofClient).get(owner, since, from, `${from}\u{10FFFF}`, childLanes);
}

const senderOf = `
  WITH RECURSIVE chain(id, key, continues) AS (
    SELECT r.id, r.session_key, r.continues FROM runs r JOIN sessions s ON s.key = r.session_key
     WHERE r.id = ?2 AND s.owner_id = ?1
    UNION
    SELECT r.id, r.session_key, r.continues FROM chain CROSS JOIN runs r ON r.id = chain.continues
  )
  SELECT i.client_id FROM chain CROSS JOIN inputs i ON i.session_key = chain.key AND i.run_id = chain.id
   WHERE chain.continues IS NULL ORDER BY i.seq LIMIT 1`;

export function readSender(connection: Connection, owner: OwnerId, run: RunId): string | null {
  const row = connection.sql(senderOf).get(owner, run);
  return row === undefined ? null : text(row, "client_id");
}
