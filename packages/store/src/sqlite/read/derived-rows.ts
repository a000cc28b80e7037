import type {
  AnsweredPage,
  AnsweredQuery,
  ApprovalPage,
  ApprovalQuery,
  ApprovalRow,
  MemoryBacklog,
  Unremembered,
  LaneRow,
  OutboxQuery,
  OutboxRow,
  OutboxWork,
  RegisterRow,
  ExpiredApproval,
  LiveWork,
  WorkItem,
} from "@holdfast/engine";
import type { ApprovalId, OwnerId, RunId, SessionId, OutboxState, Seq } from "@holdfast/protocol";
import type { Connection, Row } from "../connection.ts";
import {
  approvalTable,
  decodeRegister,
  int,
  intOrNull,
  laneTable,
  leaseTable,
  markTable,
  memoryTryTable,
  outboxTable,
  registerByKey,
  rowsOf,
  text,
} from "../rows.ts";

export interface ApprovalQueries {
  approval(owner: OwnerId, id: ApprovalId): ApprovalRow | null;
  approvals(owner: OwnerId, query: ApprovalQuery): ApprovalPage;
  answered(owner: OwnerId, query: AnsweredQuery): AnsweredPage;
  approvalsFor(owner: OwnerId, session: SessionId, run: RunId): ApprovalRow[];
}

const approvalRows = rowsOf("approvals");
const openApprovals = `
  ${approvalRows} WHERE r.owner_id = ?1 AND r.state = 'open' AND (r.asked_at, r.id) > (?2, ?3)
   ORDER BY r.asked_at, r.id LIMIT ?4 + 0`;
const openApprovalsInSession = `
  ${approvalRows} WHERE r.owner_id = ?1 AND r.state = 'open' AND (r.asked_at, r.id) > (?2, ?3)
     AND r.session_key = (SELECT key FROM sessions WHERE id = ?5)
   ORDER BY r.asked_at, r.id LIMIT ?4 + 0`;
const answeredApprovals = `
  ${approvalRows} WHERE r.owner_id = ?1 AND r.state = 'answered' AND (r.answered_at, r.id) < (?2, ?3)
     AND (?5 IS NULL OR s.id = ?5)
   ORDER BY r.answered_at DESC, r.id DESC LIMIT ?4 + 0`;
const approvalsForRun = `
  ${approvalRows} WHERE s.owner_id = ?1 AND s.id = ?2
     AND (r.run_id = ?3 OR r.decision IN ('session', 'always'))
   ORDER BY r.asked_at, r.id`;

export function approvalQueries(connection: Connection): ApprovalQueries {
  return {
    approval(owner, id) {
      const row = connection
        .sql(`${approvalRows} WHERE r.id = ? AND r.owner_id = ?`)
        .get(id, owner);
      return row === undefined ? null : approvalTable.decode(row);
    },
    approvals(owner, { session, limit, after }) {
      const position = [owner, after?.askedAt ?? -1, after?.id ?? "", limit + 1] as const;
      const rows =
        session === undefined
          ? connection.sql(openApprovals).all(...position)
          : connection.sql(openApprovalsInSession).all(...position, session);
      const page = rows.slice(0, limit).map(approvalTable.decode);
      const last = page.at(-1);
      const more = rows.length > limit && last !== undefined;
      return { approvals: page, next: more ? { askedAt: last.askedAt, id: last.id } : null };
    },
    answered(owner, { session = null, limit, before }) {
      const { answeredAt = Number.MAX_SAFE_INTEGER, id = "" } = before ?? {};
      const rows = connection.sql(answeredApprovals).all(owner, answeredAt, id, limit + 1, session);
      const page = rows.slice(0, limit).map(approvalTable.decode);
      const last = page.at(-1);
      const more = rows.length > limit && last !== undefined && last.answeredAt !== null;
      return {
        approvals: page,
        next: more ? { answeredAt: last.answeredAt, id: last.id } : null,
      };
    },
    approvalsFor: (owner, session, run) =>
      connection.sql(approvalsForRun).all(owner, session, run).map(approvalTable.decode),
  };
}

export interface MemoryQueries {
  unremembered(owner: OwnerId, session: SessionId, limit: number): Unremembered;
  memory(owner: OwnerId): MemoryBacklog;
}

const marksOf = `${rowsOf("marks")} WHERE s.owner_id = ? AND s.id = ? ORDER BY r.seq LIMIT ? + 0`;
const memoryTryOf = `${rowsOf("memory_tries")} WHERE s.owner_id = ? AND s.id = ?`;
// CROSS fixes the join order: from marks to their sessions.
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
      const memoryTry = connection.sql(memoryTryOf).get(owner, session);
      return {
        marks: connection.sql(marksOf).all(owner, session, limit).map(markTable.decode),
        trying: memoryTry === undefined ? null : memoryTryTable.decode(memoryTry),
      };
    },
    memory(owner) {
      const counts = connection.sql(memoryBacklog).get(owner) ?? {};
      const failing = connection.sql(failingMemory).get(owner);
      return {
        sessions: int(counts, "sessions"),
        turns: int(counts, "turns"),
        oldestAt: intOrNull(counts, "oldest"),
        failing: failing === undefined ? null : memoryTryTable.decode(failing),
      };
    },
  };
}

export interface OutboxQueries {
  lanes(owner: OwnerId, prefix: string, limit: number): LaneRow[];
  outbox(owner: OwnerId, query: OutboxQuery): OutboxRow[];
  inbound(owner: OwnerId, key: string): OutboxRow | null;
  undelivered(limit: number, now: number): OutboxWork[];
  registered(owner: OwnerId, key: string): RegisterRow | null;
  registeredUnder(owner: OwnerId, prefix: string, limit: number): RegisterRow[];
}

/** A prefix is a range of the key, up to the highest code point. */
const startsWith = (name: string) => `${name} >= ?2 AND ${name} < ?2 || char(0x10ffff)`;
const lanesByPrefix = `
  SELECT r.*, s.id AS session_id FROM lanes r CROSS JOIN sessions s ON s.key = r.session_key
   WHERE r.owner_id = ?1 AND ${startsWith("r.lane")} ORDER BY r.at DESC, r.lane LIMIT ?3 + 0`;
const outboxChunks = `${rowsOf("outbox")} WHERE s.owner_id = ?1`;
/** Starts from the few open chunks of all sessions. */
const openOutboxChunks = `
  SELECT r.*, s.id AS session_id
    FROM outbox r INDEXED BY outbox_by_state CROSS JOIN sessions s ON s.key = r.session_key
   WHERE s.owner_id = ?1 AND ${isOpenState("r.state")}`;
const outboxOrder = "ORDER BY s.id, r.begun, r.delivery, r.chunk LIMIT ?2 + 0";
// The head of a session with a live run is in `live`.
const undeliveredSessions = `
  SELECT s.owner_id, s.id, coalesce(l.head, s.head) AS head
    FROM (SELECT session_key, min(at) AS oldest FROM outbox INDEXED BY outbox_by_state
           WHERE ${isOpenState("state")} AND state IN ('pending', 'sending') AND (retry_at IS NULL OR retry_at <= ?2)
           GROUP BY session_key) o
    JOIN sessions s ON s.key = o.session_key LEFT JOIN live l ON l.session_key = s.key
   WHERE s.trashed_at IS NULL ORDER BY o.oldest, s.id LIMIT ?1 + 0`;

/** Spelled exactly as in the partial index, or SQLite wouldn't use it. */
function isOpenState(state: string): string {
  return `${state} IN ('pending', 'sending', 'unknown', 'failed')`;
}

const indexedStates = new Set<OutboxState>(["pending", "sending", "unknown", "failed"]);

export function outboxQueries(connection: Connection): OutboxQueries {
  return {
    lanes: (owner, prefix, limit) =>
      connection.sql(lanesByPrefix).all(owner, prefix, limit).map(laneTable.decode),
    outbox(owner, { session, delivery, states, limit }) {
      // Finished chunks of a session are never deleted, so a query for open ones must not scan them.
      const isNamed = session !== undefined && delivery !== undefined;
      const areOpen = !isNamed && states.every((state) => indexedStates.has(state));
      const sql = `${areOpen ? openOutboxChunks : outboxChunks} AND s.trashed_at IS NULL AND r.state IN (${states.map((state) => `'${state}'`).join(", ")})
        ${session === undefined ? "" : "AND s.id = ?3"}
        ${delivery === undefined ? "" : `AND r.delivery = ?${session === undefined ? 3 : 4}`} ${outboxOrder}`;
      const named = [session, delivery].filter((filter) => filter !== undefined);
      return connection
        .sql(sql)
        .all(owner, limit, ...named)
        .map(outboxTable.decode);
    },
    inbound(owner, key) {
      const row = connection.sql(`${outboxChunks} AND r.inbound = ?2`).get(owner, key);
      return row === undefined ? null : outboxTable.decode(row);
    },
    undelivered: (limit, now) =>
      connection
        .sql(undeliveredSessions)
        .all(limit, now)
        .map((row) => ({
          owner: text<OwnerId>(row, "owner_id"),
          session: text<SessionId>(row, "id"),
          head: int(row, "head") as Seq,
        })),
    registered(owner, key) {
      const row = connection.sql(registerByKey).get(owner, key);
      return row === undefined ? null : decodeRegister(row);
    },
    registeredUnder: (owner, prefix, limit) =>
      connection
        .sql(
          `SELECT * FROM register WHERE owner_id = ?1 AND ${startsWith("key")} ORDER BY key LIMIT ?3 + 0`,
        )
        .all(owner, prefix, limit)
        .map(decodeRegister),
  };
}

export interface WorkQueries {
  queuedWork(limit: number): WorkItem[];
  liveWork(limit: number): LiveWork[];
  untitledWork(limit: number): WorkItem[];
  unrememberedWork(limit: number, restingSince: number, now: number): WorkItem[];
  expiredApprovals(limit: number, now: number): ExpiredApproval[];
}

/** A scan of the queued inputs, which are few. */
const queuedSessions = `
  SELECT s.owner_id, s.id FROM inputs i JOIN sessions s ON s.key = i.session_key
   WHERE i.state = 'queued' AND s.live_run IS NULL AND s.trashed_at IS NULL
   GROUP BY s.key ORDER BY min(i.at) LIMIT ? + 0`;

/**
 * A scan of the sessions with a live run, which all have a row in `live`. CROSS: the planner can't know that they are
 * few.
 */
const liveSessions = `
  SELECT s.owner_id, s.id, s.id AS session_id, r.kind, r.fence, r.holder, r.expires_at
    FROM live l CROSS JOIN sessions s ON s.key = l.session_key
    LEFT JOIN leases r ON r.session_key = s.key AND r.kind = 'run'
   WHERE s.trashed_at IS NULL AND (s.live_state IN ('claimed', 'running')
      OR EXISTS (SELECT 1 FROM runs WHERE id = s.live_run AND cancel_requested = 1))
   ORDER BY coalesce(r.expires_at, 0) LIMIT ? + 0`;

const untitledSessions = `
  SELECT owner_id, id FROM sessions
   WHERE title_source = 'derived' AND last_state = 'completed' AND trashed_at IS NULL
   ORDER BY key LIMIT ? + 0`;

/** One scan of the marks in key order. */
const unrememberedSessions = `
  SELECT s.owner_id, s.id
    FROM (SELECT session_key, min(at) AS oldest, max(at) AS newest FROM marks GROUP BY session_key) m
    JOIN sessions s ON s.key = m.session_key LEFT JOIN memory_tries t ON t.session_key = m.session_key
   WHERE s.trashed_at IS NULL
     AND CASE WHEN t.retry_at IS NULL THEN m.newest <= ?2 ELSE t.retry_at <= ?3 END
   ORDER BY m.oldest, s.id LIMIT ?1 + 0`;

const expiredOpenApprovals = `
  SELECT r.owner_id, s.id, r.id AS approval FROM approvals r JOIN sessions s ON s.key = r.session_key
   WHERE r.state = 'open' AND r.expires_at <= ? ORDER BY r.expires_at, r.id LIMIT ? + 0`;

export function workQueries(connection: Connection): WorkQueries {
  return {
    queuedWork: (limit) => connection.sql(queuedSessions).all(limit).map(workItemOf),
    liveWork: (limit) =>
      connection
        .sql(liveSessions)
        .all(limit)
        .map((row) => ({
          ...workItemOf(row),
          lease: row["fence"] === null ? null : leaseTable.decode(row),
        })),
    untitledWork: (limit) => connection.sql(untitledSessions).all(limit).map(workItemOf),
    unrememberedWork: (limit, restingSince, now) =>
      connection.sql(unrememberedSessions).all(limit, restingSince, now).map(workItemOf),
    expiredApprovals: (limit, now) =>
      connection
        .sql(expiredOpenApprovals)
        .all(now, limit)
        .map((row) => ({ ...workItemOf(row), approval: text<ApprovalId>(row, "approval") })),
  };
}

function workItemOf(row: Row): WorkItem {
  return { owner: text<OwnerId>(row, "owner_id"), session: text<SessionId>(row, "id") };
}
