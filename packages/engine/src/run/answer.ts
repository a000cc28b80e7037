import {
  type ApprovalAnswer,
  type ApprovalDecision,
  type ApprovalId,
  type IdSource,
  newEvent,
  type OwnerId,
} from "@holdfast/protocol";

import { holdsForSession } from "../log/fold-approvals.ts";
import { type Log } from "../log/log.ts";
import { type ResumeCause } from "../log/run-states.ts";
import type { ApprovalRow } from "../ports/rows.ts";
import type { CommitResult } from "../ports/commit.ts";

export type AnswerResult =
  | { readonly status: "answered"; readonly approval: ApprovalRow }
  | { readonly status: "not_found" }
  | Exclude<CommitResult, { status: "committed" }>;

/** What a person says beside yes or no. */
export interface AnswerDetails {
  /** To a question. */
  readonly answer?: string;
  /** What a yes for more than this call is to cover; the narrowest rule that was offered unless told. */
  readonly rule?: string;
  readonly by?: string;
}

/**
 * A person's word on a call. The same word again changes nothing; another one is refused, and so is one that comes too
 * late. The last open approval of a run wakes it: its runner is told by a poke here and finds it by a sweep elsewhere.
 */
export function answerApproval(
  log: Log,
  ids: IdSource,
  owner: OwnerId,
  approvalId: ApprovalId,
  decision: ApprovalAnswer,
  words: AnswerDetails = {},
): Promise<AnswerResult> {
  return closeApproval(log, ids, owner, approvalId, decision, words);
}

/** Nobody answered in time, by the store's clock. That is a no. */
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
  words: AnswerDetails = {},
): Promise<AnswerResult> {
  const { reads } = log.store;
  for (;;) {
    const first = await reads.approval(owner, approvalId);
    const session = first && (await reads.session(owner, first.session));
    // Read behind the session: whatever moves after this moves its head too.
    const row = session && (await reads.approval(owner, approvalId));
    if (row === null || session === null) return { status: "not_found" };
    if (row.state !== "open") return alreadyClosed(row, decision, words);
    const { runId } = row;
    const said = { ...words, ...ruleOf(row, decision, words) };
    const open = await reads.approvalsFor(owner, session.id, runId);
    const isLast = !open.some((each) => each.state === "open" && each.id !== approvalId);
    const wakes = isLast && session.liveRun === runId && session.liveState === "waiting";
    const result = await log.commit({
      owner,
      session: session.id,
      expect: { head: session.head },
      events: [
        newEvent(ids.make("event"), "approval.answered", { approvalId, decision, ...said }, runId),
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
          details: { ...row.details, ...said },
        },
      };
    }
    if (result.status === "failed" || result.code !== "head_moved") return result;
  }
}

/** A yes for more than one call always says for what, where there are words for it. */
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
