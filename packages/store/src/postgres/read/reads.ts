import { type Reads, type UsageTotals, encodeSessionPage } from "@holdfast/engine";
import { type OwnerId, type SessionId, sessionId } from "@holdfast/protocol";
import { z } from "zod";

import type { Connection } from "../connection.ts";
import { decodeEvents, eventColumns } from "../rows/events.ts";
import { decodeInput, decodeRun } from "../rows/tables.ts";
import { decodeSession, sessionColumns, type StoredSession } from "../rows/sessions.ts";
import { execute, statement } from "../statement.ts";
import { createApprovalReads } from "./approvals.ts";
import { createMemoryReads } from "./memory.ts";
import { createOutboxReads } from "./outbox.ts";
import { listSessions } from "./list.ts";
import { readEntries, readEvents, readJournal } from "./log.ts";
import type { ReaderPool } from "./reader-pool.ts";

const sessionById = statement(
  "session_by_id",
  `SELECT ${sessionColumns} FROM sessions s JOIN heads h ON h.session_id = s.id
    WHERE s.id = $2 AND s.owner_id = $1`,
);
const runById = statement(
  "run_by_id",
  `SELECT r.* FROM runs r JOIN sessions s ON s.id = r.session_id WHERE r.id = $2 AND s.owner_id = $1`,
);
const eventById = statement(
  "event_by_id",
  `SELECT ${eventColumns} FROM events WHERE id = $3 AND session_id = $2
      AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = $2 AND s.owner_id = $1)`,
);
const waitingInputs = statement(
  "waiting_inputs",
  `SELECT * FROM inputs WHERE session_id = $1 AND state = 'queued' ORDER BY seq`,
);
const laneByKey = statement(
  "lane_by_key",
  `SELECT session_id FROM lanes WHERE owner_id = $1 AND lane = $2`,
);
const usageTotals = statement(
  "usage_totals",
  `SELECT coalesce(sum(input), 0)::bigint AS "input", coalesce(sum(output), 0)::bigint AS "output",
          coalesce(sum(cache_read), 0)::bigint AS "cacheRead", coalesce(sum(cache_write), 0)::bigint AS "cacheWrite",
          coalesce(sum(cost_micros), 0)::bigint AS "costMicros", count(*) AS "calls"
     FROM usage
    WHERE owner_id = $1 AND at >= $2 AND ($3::text IS NULL OR session_id = $3) AND ($4::text IS NULL OR run_id = $4)`,
);
const blobById = statement(
  "blob_by_id",
  `SELECT media_type, bytes FROM blobs WHERE owner_id = $1 AND id = $2`,
);

const usageRow: z.ZodType<UsageTotals> = z.object({
  input: z.int(),
  output: z.int(),
  cacheRead: z.int(),
  cacheWrite: z.int(),
  costMicros: z.int(),
  calls: z.int(),
});
const blobRow = z.object({ media_type: z.string(), bytes: z.instanceof(Uint8Array) });

async function readStoredSession(
  session: Connection,
  owner: OwnerId,
  id: SessionId,
): Promise<StoredSession | null> {
  const { rows } = await execute(session, sessionById, [owner, id]);
  return rows[0] === undefined ? null : decodeSession(rows[0]);
}

export function createReads(readers: ReaderPool): Reads {
  return {
    async session(owner, id) {
      const [row] = await readers.rows(sessionById, [owner, id]);
      return row === undefined ? null : decodeSession(row).row;
    },
    sessions: (owner, query) => listSessions(readers, owner, query),
    listed: async (owner, query) => encodeSessionPage(await listSessions(readers, owner, query)),
    events: (owner, id, query) => readEvents(readers, owner, id, query),
    entries: (owner, id, query) =>
      readers.snapshot(async (session) => {
        const stored = await readStoredSession(session, owner, id);
        return stored && readEntries(session, stored.row, query);
      }),
    snapshot: (owner, id, query) =>
      readers.snapshot(async (session) => {
        const stored = await readStoredSession(session, owner, id);
        if (stored === null) return null;
        const { row } = stored;
        const entries = await readEntries(session, row, query);
        const inbox = await execute(session, waitingInputs, [id]);
        const live = row.liveRun && (await execute(session, runById, [owner, row.liveRun])).rows[0];
        const liveRun = live ? decodeRun(live) : null;
        const journal = liveRun === null ? [] : await readJournal(session, stored, liveRun);
        return { session: row, entries, run: liveRun, inbox: inbox.rows.map(decodeInput), journal };
      }),
    async event(owner, session, id) {
      return decodeEvents(await readers.rows(eventById, [owner, session, id]))[0] ?? null;
    },
    async run(owner, id) {
      const [row] = await readers.rows(runById, [owner, id]);
      return row === undefined ? null : decodeRun(row);
    },
    async lane(owner, lane) {
      const [row] = await readers.rows(laneByKey, [owner, lane]);
      return row === undefined ? null : sessionId.parse(row["session_id"]);
    },
    async usage(owner, { session, runId, since }) {
      const values = [owner, since ?? 0, session ?? null, runId ?? null];
      const [row] = await readers.rows(usageTotals, values);
      return usageRow.parse(row);
    },
    async blob(owner, id) {
      const [row] = await readers.rows(blobById, [owner, id]);
      if (row === undefined) return null;
      const { media_type, bytes } = blobRow.parse(row);
      return { id, mediaType: media_type, bytes };
    },
    ...createApprovalReads(readers),
    ...createMemoryReads(readers),
    ...createOutboxReads(readers),
  };
}
