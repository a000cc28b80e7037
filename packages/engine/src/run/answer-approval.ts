import {
  type ApprovalAnswer,
  type ApprovalDecision,
  type ApprovalId,
  approvedMode,
  type IdSource,
  newEvent,
  type OwnerId,
  type SessionMode,
} from "@holdfast/protocol";
import { holdsForSession, isGrant } from "../log/fold-work.ts";
import { type Log } from "../log/log.ts";
import { type ResumeCause } from "../log/fold-rows.ts";
import type { CommitResult } from "../ports/commit.ts";
import type { ApprovalRow } from "../ports/rows.ts";

export type AnswerResult =
  | { readonly status: "answered"; readonly approval: ApprovalRow }
  | { readonly status: "not_found" }
  | Exclude<CommitResult, { status: "committed" }>;

/** What a person says besides yes or no. */
export interface AnswerDetails {
  /** The answer to a question. */
  readonly answer?: string;
  /** The rule for a yes that covers more than this call; by default the narrowest one offered. */
  readonly rule?: string;
  readonly by?: string;
  /** How long a yes that covers more than this call holds. */
  readonly lastsMs?: number;
}

/**
 * Records a person's answer. Repeating it changes nothing; a different or a late answer is refused. Closing the last
 * open approval of a run wakes the run: a runner in this process is notified, one elsewhere finds it on its sweep.
 */
export function answerApproval(
  log: Log,
  ids: IdSource,
  owner: OwnerId,
  approvalId: ApprovalId,
  decision: ApprovalAnswer,
  answerDetails: AnswerDetails = {},
): Promise<AnswerResult> {
  return closeApproval(log, ids, owner, approvalId, decision, answerDetails);
}

/** Nobody answered in time by the store's clock, which counts as a no. */
export function expireApproval(
  log: Log,
  ids: IdSource,
  owner: OwnerId,
  approvalId: ApprovalId,
): Promise<AnswerResult> {
  return closeApproval(log, ids, owner, approvalId, "expired");
}

const answeredCause: ResumeCause = "answered";

async function closeApproval(
  log: Log,
  ids: IdSource,
  owner: OwnerId,
  approvalId: ApprovalId,
  decision: ApprovalDecision,
  answerDetails: AnswerDetails = {},
): Promise<AnswerResult> {
  const { reads } = log.store;
  for (;;) {
    const first = await reads.approval(owner, approvalId);
    const session = first && (await reads.session(owner, first.session));
    // Read after the session: any later change moves the session's head, and the commit is refused.
    const row = session && (await reads.approval(owner, approvalId));
    if (row === null || session === null) return { status: "not_found" };
    if (row.state !== "open") return alreadyClosed(row, decision, answerDetails);
    const { runId } = row;
    const approvals = { ...answerDetails, ...ruleOf(row, decision, answerDetails) };
    const open = await reads.approvalsFor(owner, session.id, runId);
    const isLast = !open.some(
      (approval) => approval.state === "open" && approval.id !== approvalId,
    );
    const wakes = isLast && session.liveRun === runId && session.liveState === "waiting";
    const mode = modeAfter(row, decision, answerDetails);
    const result = await log.commit({
      owner,
      session: session.id,
      expect: { head: session.head },
      events: [
        newEvent(
          ids.make("event"),
          "approval.answered",
          { approvalId, decision, ...approvals },
          runId,
        ),
        ...(mode === null ? [] : [newEvent(ids.make("event"), "session.changed", { mode })]),
        ...(wakes
          ? [
              newEvent(
                ids.make("event"),
                "run.state",
                { state: "claimed", cause: answeredCause },
                runId,
              ),
            ]
          : []),
      ],
    });
    if (result.status === "committed") {
      const { at } = result;
      return {
        status: "answered",
        approval: {
          ...row,
          state: "answered",
          decision,
          answeredAt: at,
          details: { ...row.details, ...approvals },
        },
      };
    }
    if (result.status === "failed" || result.code !== "head_moved") return result;
  }
}

/** Approving a plan switches the mode in the same commit, so that neither is ever seen without the other. */
function modeAfter(
  { details }: ApprovalRow,
  decision: ApprovalDecision,
  { answer = "" }: AnswerDetails,
): SessionMode | null {
  return details.plan === true && decision === "once" ? approvedMode(answer) : null;
}

/** A yes for more than one call always names its rule, if the policy offered any. */
function ruleOf(
  { details }: ApprovalRow,
  decision: ApprovalDecision,
  { rule = details.rules?.[0] }: AnswerDetails,
): Pick<AnswerDetails, "rule"> {
  return holdsForSession(decision) && rule !== undefined ? { rule } : {};
}

function alreadyClosed(
  row: ApprovalRow,
  decision: ApprovalDecision,
  { answer }: AnswerDetails,
): AnswerResult {
  if (row.decision === decision && row.details.answer === answer)
    return { status: "answered", approval: row };
  return {
    status: "refused",
    code: "approval_answered",
    message:
      row.state === "withdrawn"
        ? "The run that asked has ended."
        : `The approval was answered before: ${row.decision}.`,
  };
}

/** Takes back a yes that covered more than its call. Repeating it changes nothing. */
export async function revokeGrant(
  log: Log,
  ids: IdSource,
  owner: OwnerId,
  approvalId: ApprovalId,
  by: string,
): Promise<AnswerResult> {
  const row = await log.store.reads.approval(owner, approvalId);
  if (row === null || !holdsForSession(row.decision)) return { status: "not_found" };
  if (!isGrant(row)) return { status: "answered", approval: row };
  const result = await log.commit({
    owner,
    session: row.session,
    events: [newEvent(ids.make("event"), "approval.revoked", { approvalId, by }, row.runId)],
    touch: "quiet",
  });
  // Two that revoke at once: the second is refused, since nothing is left to revoke.
  if (result.status !== "committed" && result.status !== "refused") return result;
  const revoked = await log.store.reads.approval(owner, approvalId);
  if (revoked !== null && !isGrant(revoked)) return { status: "answered", approval: revoked };
  return result.status === "committed" ? { status: "not_found" } : result;
}
