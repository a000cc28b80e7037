import type { MemoryBacklog, Unremembered } from "@holdfast/engine";
import type { OwnerId, SessionId } from "@holdfast/protocol";

import { int, intOrNull } from "../rows/columns.ts";
import type { Connection } from "../connection.ts";
import { decodeMark, decodeMemoryTry } from "../rows/memory-rows.ts";

export interface MemoryQueries {
  unremembered(owner: OwnerId, session: SessionId, limit: number): Unremembered;
  memory(owner: OwnerId): MemoryBacklog;
}

const rowsOf = (table: string) => `
  SELECT r.*, s.id AS session_id FROM ${table} r JOIN sessions s ON s.key = r.session_key`;
const marksOf = `${rowsOf("marks")} WHERE s.owner_id = ? AND s.id = ? ORDER BY r.seq LIMIT ? + 0`;
const memoryTryOf = `${rowsOf("memory_tries")} WHERE s.owner_id = ? AND s.id = ?`;
// CROSS: from what is marked to its sessions, never the other way round.
const memoryBacklog = `
  SELECT count(*) AS sessions, coalesce(sum(m.turns), 0) AS turns, min(m.oldest) AS oldest
    FROM (SELECT session_key, count(*) AS turns, min(at) AS oldest FROM marks GROUP BY session_key) m
    CROSS JOIN sessions s ON s.key = m.session_key WHERE s.owner_id = ? AND s.trashed_at IS NULL`;
const failingMemory = `
  SELECT r.*, s.id AS session_id FROM memory_tries r CROSS JOIN sessions s ON s.key = r.session_key
   WHERE s.owner_id = ? AND s.trashed_at IS NULL AND r.code IS NOT NULL
   ORDER BY r.retry_at DESC LIMIT 1`;

export function memoryQueries(connection: Connection): MemoryQueries {
  return {
    unremembered(owner, session, limit) {
      const trying = connection.sql(memoryTryOf).get(owner, session);
      return {
        marks: connection.sql(marksOf).all(owner, session, limit).map(decodeMark),
        trying: trying === undefined ? null : decodeMemoryTry(trying),
      };
    },
    memory(owner) {
      const counted = connection.sql(memoryBacklog).get(owner) ?? {};
      const failed = connection.sql(failingMemory).get(owner);
      return {
        sessions: int(counted, "sessions"),
        turns: int(counted, "turns"),
        oldestAt: intOrNull(counted, "oldest"),
        failing: failed === undefined ? null : decodeMemoryTry(failed),
      };
    },
  };
}
