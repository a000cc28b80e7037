import type { Reads } from "@holdfast/engine";
import { z } from "zod";

import { decodeMark, decodeMemoryTry } from "../rows/memory-row.ts";
import { execute, statement } from "../statement.ts";
import type { ReaderPool } from "./reader-pool.ts";

const marksOf = statement(
  "session_marks",
  `SELECT m.* FROM marks m JOIN sessions s ON s.id = m.session_id
    WHERE s.owner_id = $1 AND m.session_id = $2 ORDER BY m.seq LIMIT $3`,
);
const memoryTryOf = statement(
  "session_memory_try",
  `SELECT t.* FROM memory_tries t JOIN sessions s ON s.id = t.session_id
    WHERE s.owner_id = $1 AND t.session_id = $2`,
);
const memoryBacklog = statement(
  "memory_backlog",
  `SELECT count(*) AS sessions, coalesce(sum(m.turns), 0)::bigint AS turns, min(m.oldest) AS oldest
     FROM (SELECT session_id, count(*) AS turns, min(at) AS oldest FROM marks GROUP BY session_id) m
     JOIN sessions s ON s.id = m.session_id WHERE s.owner_id = $1 AND s.trashed_at IS NULL`,
);
const failingMemory = statement(
  "memory_failing",
  `SELECT t.* FROM memory_tries t JOIN sessions s ON s.id = t.session_id
    WHERE s.owner_id = $1 AND s.trashed_at IS NULL AND t.code IS NOT NULL
    ORDER BY t.retry_at DESC LIMIT 1`,
);
const backlogRow = z.object({ sessions: z.int(), turns: z.int(), oldest: z.int().nullable() });

export function createMemoryReads(readers: ReaderPool): Pick<Reads, "unremembered" | "memory"> {
  return {
    unremembered: (owner, id, limit) =>
      readers.snapshot(async (session) => {
        const { rows } = await execute(session, marksOf, [owner, id, limit]);
        const [trying] = (await execute(session, memoryTryOf, [owner, id])).rows;
        return {
          marks: rows.map(decodeMark),
          trying: trying === undefined ? null : decodeMemoryTry(trying),
        };
      }),
    memory: (owner) =>
      readers.snapshot(async (session) => {
        const [counted] = (await execute(session, memoryBacklog, [owner])).rows;
        const { sessions, turns, oldest } = backlogRow.parse(counted);
        const [failed] = (await execute(session, failingMemory, [owner])).rows;
        return {
          sessions,
          turns,
          oldestAt: oldest,
          failing: failed === undefined ? null : decodeMemoryTry(failed),
        };
      }),
  };
}
