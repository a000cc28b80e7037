import type { Work, WorkItem } from "@holdfast/engine";
import type { ApprovalId, OwnerId, Seq, SessionId } from "@holdfast/protocol";

import { leases } from "../../schema/tables.ts";
import { type Row, statement } from "../connection.ts";
import type { ReaderPool } from "./reader-pool.ts";
import { columnsOf, leaseTable } from "../rows.ts";

const queuedSessions = statement(
  "queued_work",
  `SELECT s.owner_id, s.id FROM inputs i JOIN sessions s ON s.id = i.session_id
    WHERE i.state = 'queued' AND s.live_run IS NULL AND s.trashed_at IS NULL
    GROUP BY s.owner_id, s.id ORDER BY min(i.at) LIMIT $1`,
);
const liveSessions = statement(
  "live_work",
  `SELECT s.owner_id, s.id, ${columnsOf(leases, "r")} FROM sessions s
    LEFT JOIN leases r ON r.session_id = s.id AND r.kind = 'run'
    WHERE s.live_run IS NOT NULL AND s.trashed_at IS NULL
      AND (s.live_state IN ('claimed', 'running')
        OR EXISTS (SELECT 1 FROM runs WHERE id = s.live_run AND cancel_requested))
    ORDER BY coalesce(r.expires_at, 0) LIMIT $1`,
);

const untitledSessions = statement(
  "untitled_work",
  `SELECT owner_id, id FROM sessions
    WHERE title_source = 'derived' AND last_state = 'completed' AND trashed_at IS NULL
    ORDER BY id LIMIT $1`,
);

const unrememberedSessions = statement(
  "unremembered_work",
  `SELECT s.owner_id, s.id
     FROM (SELECT session_id, min(at) AS oldest, max(at) AS newest FROM marks GROUP BY session_id) m
     JOIN sessions s ON s.id = m.session_id LEFT JOIN memory_tries t ON t.session_id = m.session_id
    WHERE s.trashed_at IS NULL
      AND CASE WHEN t.retry_at IS NULL THEN m.newest <= $2 ELSE t.retry_at <= $3 END
    ORDER BY m.oldest, s.id LIMIT $1`,
);

const undeliveredSessions = statement(
  "undelivered_work",
  `SELECT s.owner_id, s.id, h.head
     FROM (SELECT session_id, min(at) AS oldest FROM outbox
            WHERE state IN ('pending', 'sending') AND (retry_at IS NULL OR retry_at <= $2)
            GROUP BY session_id) o
     JOIN sessions s ON s.id = o.session_id JOIN heads h ON h.session_id = s.id
    WHERE s.trashed_at IS NULL ORDER BY o.oldest, s.id LIMIT $1`,
);

const expiredOpenApprovals = statement(
  "expired_approvals",
  `SELECT owner_id, session_id AS id, id AS approval FROM approvals
    WHERE state = 'open' AND expires_at <= $1 ORDER BY expires_at, approvals.id LIMIT $2`,
);

export function createWork(pool: ReaderPool, now: () => Promise<number>): Work {
  return {
    async queued(limit) {
      return (await pool.rows(queuedSessions, [limit])).map(workItemOf);
    },
    async live(limit) {
      const rows = await pool.rows(liveSessions, [limit]);
      return rows.map((row) => ({
        ...workItemOf(row),
        lease: row["fence"] === null ? null : leaseTable.decode(row),
      }));
    },
    async untitled(limit) {
      return (await pool.rows(untitledSessions, [limit])).map(workItemOf);
    },
    async unremembered(limit, restingSince) {
      const rows = await pool.rows(unrememberedSessions, [limit, restingSince, await now()]);
      return rows.map(workItemOf);
    },
    async undelivered(limit) {
      const rows = await pool.rows(undeliveredSessions, [limit, await now()]);
      return rows.map((row) => ({ ...workItemOf(row), head: Number(row["head"]) as Seq }));
    },
    async expiredApprovals(limit) {
      const rows = await pool.rows(expiredOpenApprovals, [await now(), limit]);
      return rows.map((row) => ({
        ...workItemOf(row),
        approval: String(row["approval"]) as ApprovalId,
      }));
    },
  };
}

function workItemOf(row: Row): WorkItem {
  return { owner: String(row["owner_id"]) as OwnerId, session: String(row["id"]) as SessionId };
}
