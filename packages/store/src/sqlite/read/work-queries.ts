import type { ExpiredApproval, LiveWork, WorkItem } from "@holdfast/engine";
import type { ApprovalId, OwnerId, SessionId } from "@holdfast/protocol";

import { text } from "../rows/columns.ts";
import type { Connection, Row } from "../connection.ts";
import { decodeLease } from "../rows/tables.ts";

export interface WorkQueries {
  queuedWork(limit: number): WorkItem[];
  liveWork(limit: number): LiveWork[];
  untitledWork(limit: number): WorkItem[];
  unrememberedWork(limit: number, restingSince: number, now: number): WorkItem[];
  expiredApprovals(limit: number, now: number): ExpiredApproval[];
}

/** A scan of the inputs that wait, which are few. */
const queuedSessions = `
  SELECT s.owner_id, s.id FROM inputs i JOIN sessions s ON s.key = i.session_key
   WHERE i.state = 'queued' AND s.live_run IS NULL AND s.trashed_at IS NULL
   GROUP BY s.key ORDER BY min(i.at) LIMIT ? + 0`;

/** A scan of the sessions with a live run: they all have a row in `live`. CROSS: the planner could not know that they are the few. */
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

/** One scan of what is marked, in the order of its key. */
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
          lease: row["fence"] === null ? null : decodeLease(row),
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
