import {
  type ApprovalDetails,
  columnText,
  type ApprovalAnswer,
  type ApprovalDecision,
  type ApprovalId,
  type IdSource,
  newEvent,
  type OwnerId,
} from "@holdfast/protocol";
import { holdsForSession } from "../log/fold-work.ts";
import { type Log } from "../log/log.ts";
import type { ApprovalRow } from "../ports/rows.ts";
import type { ApprovalNeed, PolicyQuestion, Tool, ToolCall, ToolPolicy } from "../ports/tool.ts";
import type { ModelCall } from "../ports/model.ts";
import { sha256OfJson } from "../hash.ts";
import type { RunHandle } from "./run-handle.ts";
import { type ResumeCause } from "../log/fold-rows.ts";
import type { CommitResult } from "../ports/commit.ts";

/** What happens to a call that has not started: it runs, a person is asked, or the model is told why it did not run. */
export type CallVerdict =
  | ({ readonly kind: "run"; readonly allowedBy?: string; readonly answer?: string } & CallPlace)
  | { readonly kind: "ask"; readonly inputHash: string; readonly details: ApprovalDetails }
  | { readonly kind: "refused"; readonly why: keyof typeof callRefusals }
  | { readonly kind: "failed"; readonly message: string };

type CallPlace = Pick<ToolCall, "place" | "workspace">;

export interface CallPolicyDeps {
  readonly log: Log;
  readonly toolPolicy?: ToolPolicy;
}

export const callRefusals = {
  unanswered: "The person did not want to answer.",
  denied:
    "A person did not allow this, so it was not run. Do not try to reach the same another way.",
  expired: "Nobody answered whether this is allowed, so it was not run.",
  forbidden: "This is not allowed here, so it was not run.",
  changed: "This is not what was allowed, so it was not run.",
  cancelled: "The run ended before this was begun, so it was not run.",
} as const;

/** Asks exactly when the tools ask for it. */
const defaultPolicy: ToolPolicy = {
  decide: async ({ asks }) => ({ kind: asks === "none" ? "allow" : "ask" }),
  remember: async () => {},
};

/** An approval covers a tool, its exact arguments and its workspace: any other call has different hashes. */
interface CallHashes {
  /** The same on every host. */
  readonly current: string;
  /** Over the folder's path, for approvals from before workspaces had names. */
  readonly byPath: string;
}

async function hashCall(
  { name, input }: Pick<ModelCall, "name" | "input">,
  { place, workspace }: CallPlace,
): Promise<CallHashes> {
  const byPath = await sha256OfJson({ name, input, ...(place !== undefined && { place }) });
  if (workspace === undefined) return { current: byPath, byPath };
  return { current: await sha256OfJson({ name, input, workspace }), byPath };
}

function isSameCall({ inputHash }: ApprovalRow, { current, byPath }: CallHashes): boolean {
  return inputHash === current || inputHash === byPath;
}

function isSamePlace({ details }: ApprovalRow, { place, workspace }: CallPlace): boolean {
  return details.workspace === undefined
    ? details.place === place
    : details.workspace === workspace;
}

/** The folder a call works in, if the tool has one, or why it cannot be resolved. */
export async function resolvePlace(
  tool: Tool,
  call: ToolCall,
): Promise<CallPlace | { readonly message: string }> {
  if (tool.place === undefined) return {};
  try {
    const found = await tool.place(call);
    if (typeof found === "string") return { place: found };
    return { place: found.folder, workspace: found.workspace };
  } catch (error) {
    return { message: error instanceof Error ? error.message : String(error) };
  }
}

/** Decides each call by the policy and by the approvals already given in this session. */
export async function decideCalls(
  deps: CallPolicyDeps,
  run: RunHandle,
  calls: readonly { readonly call: ModelCall; readonly tool: Tool }[],
): Promise<readonly CallVerdict[]> {
  const { toolPolicy = defaultPolicy } = deps;
  if (calls.length === 0) return [];
  const { owner, session, runId } = run;
  const approvals = await deps.log.store.reads.approvalsFor(owner, session, runId);
  return Promise.all(
    calls.map(async ({ call, tool }): Promise<CallVerdict> => {
      const { callId, name, input } = call;
      const toolCall = { owner, session, runId, callId, input };
      const place = await resolvePlace(tool, toolCall);
      if ("message" in place) return { kind: "failed", message: place.message };
      const hashes = await hashCall(call, place);
      // A withdrawn approval binds nobody; its call is asked about again.
      const ownApproval = approvals.findLast(
        (row) => row.callId === callId && row.state !== "withdrawn",
      );
      if (ownApproval !== undefined) return applyAnswer(toolPolicy, ownApproval, hashes, place);
      const question = { ...toolCall, name, asks: approvalNeedOf(tool, call), ...place };
      const decided = await toolPolicy.decide(question).catch(() => ({ kind: "ask" }) as const);
      if (decided.kind === "deny") return { kind: "refused", why: "forbidden" };
      // Only a person can answer a question, whatever the rules allow.
      if (question.asks !== "question") {
        if (decided.kind === "allow")
          return { kind: "run", ...place, ...(decided.rule && { allowedBy: decided.rule }) };
        const covering = await findCovering(toolPolicy, approvals, question, hashes);
        if (covering !== undefined) return { kind: "run", ...place, allowedBy: covering.id };
      }
      const details = await describeCall(toolPolicy, question);
      return { kind: "ask", inputHash: hashes.current, details: { ...details, ...place } };
    }),
  );
}

/** An earlier approval for the session covers what its rule covers, in the workspace it was given for. */
async function findCovering(
  policy: ToolPolicy,
  approvals: readonly ApprovalRow[],
  question: PolicyQuestion,
  hashes: CallHashes,
): Promise<ApprovalRow | undefined> {
  const isCovered = async (rule: string): Promise<boolean> =>
    (await policy.covers?.(rule, question).catch(() => false)) === true;
  for (const row of approvals) {
    const { rule } = row.details;
    if (row.tool !== columnText(question.name) || !holdsForSession(row.decision)) continue;
    if (!isSamePlace(row, question)) continue;
    if (rule === undefined ? coversSameCall(policy, row, hashes) : await isCovered(rule))
      return row;
  }
  return undefined;
}

/**
 * A yes without a rule. If the policy has no rules at all, it covers the tool; if it has, but none fits this call (too
 * long, or about many files), it covers only the identical call.
 */
function coversSameCall(policy: ToolPolicy, row: ApprovalRow, hashes: CallHashes): boolean {
  return policy.covers === undefined || isSameCall(row, hashes);
}

/** The person is asked in any case, if need be without the policy's description. */
async function describeCall(
  policy: ToolPolicy,
  question: PolicyQuestion,
): Promise<ApprovalDetails> {
  if (question.asks === "question") return { kind: "question" };
  return (await policy.describe?.(question).catch(() => ({}))) ?? {};
}

/** A tool that fails to say whether it needs approval needs it. */
function approvalNeedOf(tool: Tool, { input }: ModelCall): ApprovalNeed {
  try {
    return tool.approval?.(input) ?? "none";
  } catch {
    return "ask";
  }
}

async function applyAnswer(
  policy: ToolPolicy,
  row: ApprovalRow,
  hashes: CallHashes,
  place: CallPlace,
): Promise<CallVerdict> {
  const { id: approvalId, decision, tool, owner, session, details } = row;
  const { answer, rule = null, by = null } = details;
  // P7: an approval holds for these arguments in this workspace and no others.
  if (!isSameCall(row, hashes)) return { kind: "refused", why: "changed" };
  const run = { kind: "run", ...place, allowedBy: approvalId } as const;
  switch (decision) {
    case "always":
      // Remember before the call runs: a crash then remembers twice rather than not at all.
      await policy.remember({ owner, tool, approvalId, session, rule, by }).catch(() => {});
      return run;
    case "once":
    case "session":
      return answer === undefined ? run : { ...run, answer };
    case "deny":
      return { kind: "refused", why: details.kind === "question" ? "unanswered" : "denied" };
    case "expired":
      return { kind: "refused", why: "expired" };
    case null:
      return { kind: "refused", why: "cancelled" };
  }
}

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
