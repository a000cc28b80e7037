import type {
  AnsweredPage,
  AnsweredQuery,
  ApprovalPage,
  ApprovalQuery,
  ApprovalRow,
} from "@holdfast/engine";
import type { ApprovalId, OwnerId, RunId, SessionId } from "@holdfast/protocol";

import type { Connection } from "../connection.ts";
import { decodeApproval } from "../rows/tables.ts";

export interface ApprovalQueries {
  approval(owner: OwnerId, id: ApprovalId): ApprovalRow | null;
  approvals(owner: OwnerId, query: ApprovalQuery): ApprovalPage;
  answered(owner: OwnerId, query: AnsweredQuery): AnsweredPage;
  approvalsFor(owner: OwnerId, session: SessionId, run: RunId): ApprovalRow[];
}

const approvalRows = `
  SELECT r.*, s.id AS session_id FROM approvals r JOIN sessions s ON s.key = r.session_key`;
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
      return row === undefined ? null : decodeApproval(row);
    },
    approvals(owner, { session, limit, after }) {
      const place = [owner, after?.askedAt ?? -1, after?.id ?? "", limit + 1] as const;
      const rows =
        session === undefined
          ? connection.sql(openApprovals).all(...place)
          : connection.sql(openApprovalsInSession).all(...place, session);
      const page = rows.slice(0, limit).map(decodeApproval);
      const last = page.at(-1);
      const more = rows.length > limit && last !== undefined;
      return { approvals: page, next: more ? { askedAt: last.askedAt, id: last.id } : null };
    },
    answered(owner, { session = null, limit, before }) {
      const { answeredAt = Number.MAX_SAFE_INTEGER, id = "" } = before ?? {};
      const rows = connection.sql(answeredApprovals).all(owner, answeredAt, id, limit + 1, session);
      const page = rows.slice(0, limit).map(decodeApproval);
      const last = page.at(-1);
      const more = rows.length > limit && last !== undefined && last.answeredAt !== null;
      return {
        approvals: page,
        next: more ? { answeredAt: last.answeredAt, id: last.id } : null,
      };
    },
    approvalsFor: (owner, session, run) =>
      connection.sql(approvalsForRun).all(owner, session, run).map(decodeApproval),
  };
}
