import type { Reads } from "@holdfast/engine";
import { z } from "zod";

import { decodeMark, decodeMemoryTry } from "../rows/memory-row.ts";
import { run, statement } from "../statement.ts";
import type { Readers } from "./reader-pool.ts";

const marksOf = statement(
  "session_marks",
  `SELECT m.* FROM marks m JOIN sessions s ON s.id = m.session_id
    WHERE s.owner_id = $1 AND m.session_id = $2 ORDER BY m.seq LIMIT $3`,
);
const tryOf = statement(
  "session_memory_try",
  `SELECT t.* FROM memory_tries t JOIN sessions s ON s.id = t.session_id
    WHERE s.owner_id = $1 AND t.session_id = $2`,
);
const waiting = statement(
  "memory_backlog",
  `SELECT count(*) AS sessions, coalesce(sum(m.turns), 0)::bigint AS turns, min(m.oldest) AS oldest
     FROM (SELECT session_id, count(*) AS turns, min(at) AS oldest FROM marks GROUP BY session_id) m
     JOIN sessions s ON s.id = m.session_id WHERE s.owner_id = $1 AND s.trashed_at IS NULL`,
);
const failing = statement(
  "memory_failing",
  `SELECT t.* FROM memory_tries t JOIN sessions s ON s.id = t.session_id
    WHERE s.owner_id = $1 AND s.trashed_at IS NULL AND t.code IS NOT NULL
    ORDER BY t.retry_at DESC LIMIT 1`,
);
const counts = z.object({ sessions: z.int(), turns: z.int(), oldest: z.int().nullable() });

export function createMemoryReads(readers: Readers): Pick<Reads, "unremembered" | "memory"> {
  return {
    unremembered: (owner, id, limit) =>
      readers.snapshot(async (session) => {
        const { rows } = await run(session, marksOf, [owner, id, limit]);
        const [trying] = (await run(session, tryOf, [owner, id])).rows;
        return {
          marks: rows.map(decodeMark),
          trying: trying === undefined ? null : decodeMemoryTry(trying),
        };
      }),
    memory: (owner) =>
      readers.snapshot(async (session) => {
        const [counted] = (await run(session, waiting, [owner])).rows;
        const { sessions, turns, oldest } = counts.parse(counted);
        const [failed] = (await run(session, failing, [owner])).rows;
        return {
          sessions,
          turns,
          oldestAt: oldest,
          failing: failed === undefined ? null : decodeMemoryTry(failed),
        };
      }),
  };
}
