import type { Reads } from "@holdfast/engine";

import { decodeApproval } from "../rows/approvals.ts";
import { statement } from "../statement.ts";
import type { ReaderPool } from "./reader-pool.ts";

const approvalById = statement(
  "approval_by_id",
  `SELECT * FROM approvals WHERE id = $2 AND owner_id = $1`,
);
const openApprovalsPage = (where: string) => `
  SELECT * FROM approvals
   WHERE owner_id = $1 AND state = 'open' AND (asked_at, id) > ($2::bigint, $3) ${where}
   ORDER BY asked_at, id LIMIT $4`;
const openApprovals = statement("open_approvals", openApprovalsPage(""));
const openApprovalsInSession = statement(
  "open_approvals_in_session",
  openApprovalsPage("AND session_id = $5"),
);
const answeredApprovals = statement(
  "answered_approvals",
  `SELECT * FROM approvals
    WHERE owner_id = $1 AND state = 'answered' AND (answered_at, id) < ($2::bigint, $3)
      AND ($5::text IS NULL OR session_id = $5)
    ORDER BY answered_at DESC, id DESC LIMIT $4`,
);
const approvalsForRun = statement(
  "approvals_for_run",
  `SELECT * FROM approvals
    WHERE owner_id = $1 AND session_id = $2 AND (run_id = $3 OR decision IN ('session', 'always'))
    ORDER BY asked_at, id`,
);

type ApprovalReads = Pick<Reads, "approval" | "approvals" | "answered" | "approvalsFor">;

export function createApprovalReads(readers: ReaderPool): ApprovalReads {
  return {
    async approval(owner, id) {
      const [row] = await readers.rows(approvalById, [owner, id]);
      return row === undefined ? null : decodeApproval(row);
    },
    async approvals(owner, { session, limit, after }) {
      const place = [owner, after?.askedAt ?? -1, after?.id ?? "", limit + 1];
      const rows =
        session === undefined
          ? await readers.rows(openApprovals, place)
          : await readers.rows(openApprovalsInSession, [...place, session]);
      const approvals = rows.slice(0, limit).map(decodeApproval);
      const last = approvals.at(-1);
      const more = rows.length > limit && last !== undefined;
      return { approvals, next: more ? { askedAt: last.askedAt, id: last.id } : null };
    },
    async answered(owner, { session = null, limit, before }) {
      const { answeredAt = Number.MAX_SAFE_INTEGER, id = "" } = before ?? {};
      const rows = await readers.rows(answeredApprovals, [
        owner,
        answeredAt,
        id,
        limit + 1,
        session,
      ]);
      const approvals = rows.slice(0, limit).map(decodeApproval);
      const last = approvals.at(-1);
      const more = rows.length > limit && last !== undefined && last.answeredAt !== null;
      return {
        approvals,
        next: more ? { answeredAt: last.answeredAt, id: last.id } : null,
      };
    },
    async approvalsFor(owner, session, run) {
      return (await readers.rows(approvalsForRun, [owner, session, run])).map(decodeApproval);
    },
  };
}
