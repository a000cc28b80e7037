import { z } from "zod";
import {
  type Reads,
  type ListQuery,
  type SessionPage,
  type UsageTotals,
  encodeSessionPage,
} from "@holdfast/engine";
import { statement, execute, type SqlValue, type Connection } from "../connection.ts";
import type { ReaderPool } from "./reader-pool.ts";
import { type OwnerId, type SessionId, sessionId } from "@holdfast/protocol";
import * as tables from "../../schema/tables.ts";
import {
  columnsOf,
  decodeSession,
  sessionColumns,
  storedSessionColumns,
  type StoredSession,
  approvalTable,
  inputTable,
  laneTable,
  markTable,
  memoryTryTable,
  outboxTable,
  runTable,
} from "../rows.ts";
import { decodeEvents, eventColumns, readEntries, readJournal } from "../events.ts";
import { blobInStore } from "../../shared/stored-blob.ts";
import { createBlobObjectReads } from "./blob-objects.ts";
import { EventPages } from "./event-pages.ts";
import { readUsageGroups } from "./usage-groups.ts";
import { readSender, readUsageOfWork } from "./usage-of-work.ts";

const approvalById = statement(
  "approval_by_id",
  `SELECT ${columnsOf(tables.approvals)} FROM approvals WHERE id = $2 AND owner_id = $1`,
);
const openApprovalsPage = (where: string) => `
  SELECT ${columnsOf(tables.approvals)} FROM approvals
   WHERE owner_id = $1 AND state = 'open' AND (asked_at, id) > ($2::bigint, $3) ${where}
   ORDER BY asked_at, id LIMIT $4`;
const openApprovals = statement("open_approvals", openApprovalsPage(""));
const openApprovalsInSession = statement(
  "open_approvals_in_session",
  openApprovalsPage("AND session_id = $5"),
);
const answeredApprovals = statement(
  "answered_approvals",
  `SELECT ${columnsOf(tables.approvals)} FROM approvals
    WHERE owner_id = $1 AND state = 'answered' AND (answered_at, id) < ($2::bigint, $3)
      AND ($5::text IS NULL OR session_id = $5)
    ORDER BY answered_at DESC, id DESC LIMIT $4`,
);
const approvalsForRun = statement(
  "approvals_for_run",
  `SELECT ${columnsOf(tables.approvals)} FROM approvals
    WHERE owner_id = $1 AND session_id = $2 AND (run_id = $3 OR decision IN ('session', 'always'))
    ORDER BY asked_at, id`,
);

type ApprovalReads = Pick<Reads, "approval" | "approvals" | "answered" | "approvalsFor">;

function createApprovalReads(pool: ReaderPool): ApprovalReads {
  return {
    async approval(owner, id) {
      const [row] = await pool.rows(approvalById, [owner, id]);
      return row === undefined ? null : approvalTable.decode(row);
    },
    async approvals(owner, { session, limit, after }) {
      const position = [owner, after?.askedAt ?? -1, after?.id ?? "", limit + 1];
      const rows =
        session === undefined
          ? await pool.rows(openApprovals, position)
          : await pool.rows(openApprovalsInSession, [...position, session]);
      const approvals = rows.slice(0, limit).map(approvalTable.decode);
      const last = approvals.at(-1);
      const more = rows.length > limit && last !== undefined;
      return { approvals, next: more ? { askedAt: last.askedAt, id: last.id } : null };
    },
    async answered(owner, { session = null, limit, before }) {
      const { answeredAt = Number.MAX_SAFE_INTEGER, id = "" } = before ?? {};
      const rows = await pool.rows(answeredApprovals, [owner, answeredAt, id, limit + 1, session]);
      const approvals = rows.slice(0, limit).map(approvalTable.decode);
      const last = approvals.at(-1);
      const more = rows.length > limit && last !== undefined && last.answeredAt !== null;
      return {
        approvals,
        next: more ? { answeredAt: last.answeredAt, id: last.id } : null,
      };
    },
    async approvalsFor(owner, session, run) {
      return (await pool.rows(approvalsForRun, [owner, session, run])).map(approvalTable.decode);
    },
  };
}

const marksOf = statement(
  "session_marks",
  `SELECT ${columnsOf(tables.marks, "m")} FROM marks m JOIN sessions s ON s.id = m.session_id
    WHERE s.owner_id = $1 AND m.session_id = $2 ORDER BY m.seq LIMIT $3`,
);
const memoryTryOf = statement(
  "session_memory_try",
  `SELECT ${columnsOf(tables.memoryTries, "t")} FROM memory_tries t JOIN sessions s ON s.id = t.session_id
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
  `SELECT ${columnsOf(tables.memoryTries, "t")} FROM memory_tries t JOIN sessions s ON s.id = t.session_id
    WHERE s.owner_id = $1 AND s.trashed_at IS NULL AND t.code IS NOT NULL
    ORDER BY t.retry_at DESC LIMIT 1`,
);
const backlogRow = z.object({ sessions: z.int(), turns: z.int(), oldest: z.int().nullable() });

function createMemoryReads(pool: ReaderPool): Pick<Reads, "unremembered" | "memory"> {
  return {
    unremembered: (owner, id, limit) =>
      pool.snapshot(async (connection) => {
        const { rows } = await execute(connection, marksOf, [owner, id, limit]);
        const [memoryTry] = (await execute(connection, memoryTryOf, [owner, id])).rows;
        return {
          marks: rows.map(markTable.decode),
          trying: memoryTry === undefined ? null : memoryTryTable.decode(memoryTry),
        };
      }),
    memory: (owner) =>
      pool.snapshot(async (connection) => {
        const [counts] = (await execute(connection, memoryBacklog, [owner])).rows;
        const { sessions, turns, oldest } = backlogRow.parse(counts);
        const [failing] = (await execute(connection, failingMemory, [owner])).rows;
        return {
          sessions,
          turns,
          oldestAt: oldest,
          failing: failing === undefined ? null : memoryTryTable.decode(failing),
        };
      }),
  };
}

const lanesByPrefix = statement(
  "lanes_under",
  `SELECT ${columnsOf(tables.lanes)} FROM lanes WHERE owner_id = $1 AND starts_with(lane, $2) ORDER BY at DESC, lane LIMIT $3`,
);
const outboxChunks = statement(
  "outbox_chunks",
  `SELECT ${columnsOf(tables.outbox, "o")} FROM outbox o JOIN sessions s ON s.id = o.session_id
    WHERE s.owner_id = $1 AND s.trashed_at IS NULL AND o.state = ANY($2)
      AND ($3::text IS NULL OR o.session_id = $3) AND ($4::text IS NULL OR o.delivery = $4)
    ORDER BY o.session_id, o.begun, o.delivery, o.chunk LIMIT $5`,
);
const outboxByInbound = statement(
  "outbox_by_inbound",
  `SELECT ${columnsOf(tables.outbox, "o")} FROM outbox o JOIN sessions s ON s.id = o.session_id
    WHERE s.owner_id = $1 AND o.inbound = $2`,
);

function createOutboxReads(pool: ReaderPool): Pick<Reads, "lanes" | "outbox" | "inbound"> {
  return {
    async lanes(owner, prefix, limit) {
      return (await pool.rows(lanesByPrefix, [owner, prefix, limit])).map(laneTable.decode);
    },
    async outbox(owner, { session, delivery, states, limit }) {
      const values = [owner, [...states], session ?? null, delivery ?? null, limit];
      return (await pool.rows(outboxChunks, values)).map(outboxTable.decode);
    },
    async inbound(owner, key) {
      const [row] = await pool.rows(outboxByInbound, [owner, key]);
      return row === undefined ? null : outboxTable.decode(row);
    },
  };
}

/** One scan of the index that fits the filter, starting at the cursor; then the heads of the page. */
async function listSessions(
  pool: ReaderPool,
  owner: OwnerId,
  query: ListQuery,
): Promise<SessionPage> {
  const { shelf = "active", pinned, project, tag, workspace, limit, after } = query;
  const values: SqlValue[] = [owner, tables.shelves[shelf], limit + 1];
  const bind = (filter: SqlValue): string => `$${values.push(filter)}`;
  const position = tag === undefined ? "(s.sort_at, s.id)" : "(t.sort_at, t.session_id)";
  const conditions = [
    ...(tag === undefined
      ? ["s.owner_id = $1", "s.shelf = $2"]
      : ["t.owner_id = $1", "t.shelf = $2", `t.tag = ${bind(tag)}`]),
    ...(pinned === undefined ? [] : ["s.pinned"]),
    ...(project === undefined ? [] : [`s.project = ${bind(project)}`]),
    ...(workspace === undefined ? [] : [`s.workspace = ${bind(workspace)}`]),
    ...(after === undefined ? [] : [`${position} < (${bind(after.sortAt)}, ${bind(after.id)})`]),
  ];
  const [sortAt, id] = tag === undefined ? ["s.sort_at", "s.id"] : ["t.sort_at", "t.session_id"];
  const isFiltered = [tag, pinned, project, workspace, after].map((filter) =>
    filter === undefined ? 0 : 1,
  );
  const list = statement(
    `list_${isFiltered.join("")}`,
    `SELECT ${sessionColumns} FROM (
       SELECT ${storedSessionColumns} FROM sessions s ${tag === undefined ? "" : "JOIN session_tags t ON t.session_id = s.id"}
        WHERE ${conditions.join(" AND ")} ORDER BY ${sortAt} DESC, ${id} DESC LIMIT $3) s
     JOIN heads h ON h.session_id = s.id ORDER BY s.sort_at DESC, s.id DESC`,
  );
  const rows = await pool.rows(list, values);
  const sessions = rows.slice(0, limit).map((row) => decodeSession(row).row);
  const last = sessions.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { sessions, next: more ? { sortAt: last.sortAt, id: last.id } : null };
}

const sessionById = statement(
  "session_by_id",
  `SELECT ${sessionColumns} FROM sessions s JOIN heads h ON h.session_id = s.id
    WHERE s.id = $2 AND s.owner_id = $1`,
);
const runById = statement(
  "run_by_id",
  `SELECT ${columnsOf(tables.runs, "r")} FROM runs r JOIN sessions s ON s.id = r.session_id WHERE r.id = $2 AND s.owner_id = $1`,
);
const eventById = statement(
  "event_by_id",
  `SELECT ${eventColumns} FROM events WHERE id = $3 AND session_id = $2
      AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = $2 AND s.owner_id = $1)`,
);
const waitingInputs = statement(
  "waiting_inputs",
  `SELECT ${columnsOf(tables.inputs)} FROM inputs WHERE session_id = $1 AND state = 'queued' ORDER BY seq`,
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
    WHERE owner_id = $1 AND at >= $2 AND ($3::text IS NULL OR session_id = $3) AND ($4::text IS NULL OR run_id = $4)
      AND ($5::text IS NULL OR position('+' || $5 || '+' IN '+' || profile || '+') > 0)`,
);

const usageRow: z.ZodType<UsageTotals> = z.object({
  input: z.int(),
  output: z.int(),
  cacheRead: z.int(),
  cacheWrite: z.int(),
  costMicros: z.int(),
  calls: z.int(),
});

async function readStoredSession(
  connection: Connection,
  owner: OwnerId,
  id: SessionId,
): Promise<StoredSession | null> {
  const { rows } = await execute(connection, sessionById, [owner, id]);
  return rows[0] === undefined ? null : decodeSession(rows[0]);
}

export function createReads(pool: ReaderPool): Reads {
  const eventPages = new EventPages(pool);
  const blobObjects = createBlobObjectReads(pool);
  return {
    async session(owner, id) {
      const [row] = await pool.rows(sessionById, [owner, id]);
      return row === undefined ? null : decodeSession(row).row;
    },
    sessions: (owner, query) => listSessions(pool, owner, query),
    listed: async (owner, query) => encodeSessionPage(await listSessions(pool, owner, query)),
    events: (owner, id, query) => eventPages.read(owner, id, query),
    entries: (owner, id, query) =>
      pool.snapshot(async (connection) => {
        const stored = await readStoredSession(connection, owner, id);
        return stored && readEntries(connection, stored.row, query);
      }),
    snapshot: (owner, id, query) =>
      pool.snapshot(async (connection) => {
        const stored = await readStoredSession(connection, owner, id);
        if (stored === null) return null;
        const { row } = stored;
        const entries = await readEntries(connection, row, query);
        const inbox = await execute(connection, waitingInputs, [id]);
        const liveRow =
          row.liveRun && (await execute(connection, runById, [owner, row.liveRun])).rows[0];
        const liveRun = liveRow ? runTable.decode(liveRow) : null;
        const journal = liveRun === null ? [] : await readJournal(connection, stored, liveRun);
        return {
          session: row,
          entries,
          run: liveRun,
          inbox: inbox.rows.map(inputTable.decode),
          journal,
        };
      }),
    async event(owner, session, id) {
      return decodeEvents(await pool.rows(eventById, [owner, session, id]))[0] ?? null;
    },
    async run(owner, id) {
      const [row] = await pool.rows(runById, [owner, id]);
      return row === undefined ? null : runTable.decode(row);
    },
    async lane(owner, lane) {
      const [row] = await pool.rows(laneByKey, [owner, lane]);
      return row === undefined ? null : sessionId.parse(row["session_id"]);
    },
    async usage(owner, { session, runId, since, profile }) {
      const values = [owner, since ?? 0, session ?? null, runId ?? null, profile ?? null];
      const [row] = await pool.rows(usageTotals, values);
      return usageRow.parse(row);
    },
    senderOf: (owner, run) => readSender(pool, owner, run),
    usageOfWork: async (owner, query) => usageRow.parse(await readUsageOfWork(pool, owner, query)),
    usageGroups: (owner, query) => readUsageGroups(pool, owner, query),
    blob: async (owner, id) => blobInStore(await blobObjects.read(owner, id)),
    ...createApprovalReads(pool),
    ...createMemoryReads(pool),
    ...createOutboxReads(pool),
  };
}
