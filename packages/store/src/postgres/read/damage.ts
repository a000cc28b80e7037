import type { Orphan } from "@holdfast/engine";

import type { ReaderPool } from "./reader-pool.ts";
import { statement } from "../statement.ts";

/** Tables whose rows belong to a session, and the words that name such a row. Usage outlives its session. */
const ownedTables: readonly { table: string; key: string }[] = [
  { table: "heads", key: "x.session_id" },
  { table: "session_tags", key: "x.session_id || ' ' || x.tag" },
  { table: "deltas", key: "x.session_id || ' ' || x.seq" },
  { table: "settled", key: "x.session_id" },
  { table: "runs", key: "x.id" },
  { table: "inputs", key: "x.message_id" },
  { table: "approvals", key: "x.id" },
  { table: "marks", key: "x.session_id || ' ' || x.seq" },
  { table: "memory_tries", key: "x.session_id" },
  { table: "outbox", key: "x.delivery || ' ' || x.chunk" },
  { table: "lanes", key: "x.owner_id || ' ' || x.lane" },
  { table: "fences", key: "x.session_id || ' ' || x.kind" },
  { table: "leases", key: "x.session_id || ' ' || x.kind" },
  { table: "branches", key: "x.log_id || ' ' || x.session_id" },
];

const orphans = statement(
  "orphans",
  [
    ...ownedTables.map(
      ({ table, key }) => `SELECT '${table}' AS "table", ${key} AS key FROM ${table} x
         WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = x.session_id)`,
    ),
    // The log of a purged session stays as far as a branch reads it.
    `SELECT 'events', x.session_id || ' ' || x.seq FROM events x
      WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = x.session_id)
        AND NOT EXISTS (SELECT 1 FROM branches b WHERE b.log_id = x.session_id AND b.upto >= x.seq)`,
    `SELECT 'requests', x.owner_id || ' ' || x.key FROM requests x
      WHERE x.session_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = x.session_id)`,
    `SELECT 'sessions', s.id FROM sessions s
      WHERE NOT EXISTS (SELECT 1 FROM heads h WHERE h.session_id = s.id)`,
  ].join("\nUNION ALL\n"),
);

export async function* findOrphans(readers: ReaderPool): AsyncIterable<Orphan> {
  for (const row of await readers.rowsWithoutTimeout(orphans)) {
    yield { table: String(row["table"]), key: String(row["key"]) };
  }
}

const integrityProblems = statement(
  "integrity",
  `SELECT 'The index ' || c.relname || ' is not valid; run REINDEX.' AS problem
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE NOT i.indisvalid AND c.relnamespace = current_schema()::regnamespace
   UNION ALL
   SELECT checksum_failures || ' pages of this database failed their checksum.'
     FROM pg_stat_database WHERE datname = current_database() AND checksum_failures > 0
   UNION ALL
   SELECT 'The server runs with ' || name || ' off: a power cut may lose what was acknowledged.'
     FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'`,
);

export async function checkIntegrity(readers: ReaderPool): Promise<readonly string[]> {
  const rows = await readers.rowsWithoutTimeout(integrityProblems);
  return rows.map((row) => String(row["problem"]));
}
