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
import { holdsForSession } from "../log/fold-approvals.ts";
import { type Log } from "../log/log.ts";
import type { ApprovalRow } from "../ports/rows.ts";
import type { ApprovalNeed, PolicyQuestion, Tool, ToolCall, ToolPolicy } from "../ports/tool.ts";
import type { ModelCall } from "../ports/model.ts";
import { sha256OfJson } from "../hash.ts";
import type { RunHandle } from "./run-handle.ts";
import { type ResumeCause } from "../log/fold-rows.ts";
import type { CommitResult } from "../ports/commit.ts";

/** What becomes of a call that nobody has begun: it runs, a person is asked, or the model is told why it was not run. */
export type CallVerdict =
  | ({ readonly kind: "run"; readonly allowedBy?: string; readonly answer?: string } & CallPlace)
  | { readonly kind: "ask"; readonly inputHash: string; readonly details: ApprovalDetails }
  | { readonly kind: "refused"; readonly why: keyof typeof callRefusals }
  | { readonly kind: "failed"; readonly words: string };

interface CallPlace {
  readonly place?: string;
}

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

/** Asks exactly what the tools say. */
const defaultPolicy: ToolPolicy = {
  decide: async ({ asks }) => ({ kind: asks === "none" ? "allow" : "ask" }),
  remember: async () => {},
};

/** An approval is about a tool, its very arguments and where it works: a call with others has another hash. */
function hashCall(
  { name, input }: Pick<ModelCall, "name" | "input">,
  place: CallPlace,
): Promise<string> {
  return sha256OfJson({ name, input, ...place });
}

/** Where the call works, in a field of its own where the tool has something to say; or why it cannot. */
export async function resolvePlace(
  tool: Tool,
  call: ToolCall,
): Promise<CallPlace | { readonly words: string }> {
  if (tool.place === undefined) return {};
  try {
    return { place: await tool.place(call) };
  } catch (error) {
    return { words: error instanceof Error ? error.message : String(error) };
  }
}

/** The verdict on each call, from the policy and from what people have said in this session. */
export async function decideCalls(
  deps: CallPolicyDeps,
  run: RunHandle,
  calls: readonly { readonly call: ModelCall; readonly tool: Tool }[],
): Promise<readonly CallVerdict[]> {
  const { toolPolicy = defaultPolicy } = deps;
  if (calls.length === 0) return [];
  const { owner, session, runId } = run;
  const said = await deps.log.store.reads.approvalsFor(owner, session, runId);
  return Promise.all(
    calls.map(async ({ call, tool }): Promise<CallVerdict> => {
      const { callId, name, input } = call;
      const asked = { owner, session, runId, callId, input };
      const place = await resolvePlace(tool, asked);
      if ("words" in place) return { kind: "failed", words: place.words };
      const inputHash = await hashCall(call, place);
      // One that was withdrawn binds nobody; its call is asked for anew.
      const own = said.findLast((row) => row.callId === callId && row.state !== "withdrawn");
      if (own !== undefined) return applyAnswer(toolPolicy, own, inputHash, place);
      const question = { ...asked, name, asks: approvalNeedOf(tool, call), ...place };
      const decided = await toolPolicy.decide(question).catch(() => ({ kind: "ask" }) as const);
      if (decided.kind === "deny") return { kind: "refused", why: "forbidden" };
      // Nobody but a person can answer a question, whatever is allowed.
      if (question.asks !== "question") {
        if (decided.kind === "allow")
          return { kind: "run", ...place, ...(decided.rule && { allowedBy: decided.rule }) };
        const covering = await findCovering(toolPolicy, said, question, inputHash);
        if (covering !== undefined) return { kind: "run", ...place, allowedBy: covering.id };
      }
      const details = await describeCall(toolPolicy, question);
      return { kind: "ask", inputHash, details: { ...details, ...place } };
    }),
  );
}

/** What was said for the session before covers what it says, in the place where it was said. */
async function findCovering(
  policy: ToolPolicy,
  said: readonly ApprovalRow[],
  question: PolicyQuestion,
  inputHash: string,
): Promise<ApprovalRow | undefined> {
  const isCovered = async (rule: string): Promise<boolean> =>
    (await policy.covers?.(rule, question).catch(() => false)) === true;
  for (const row of said) {
    const { rule, place } = row.details;
    if (row.tool !== columnText(question.name) || !holdsForSession(row.decision)) continue;
    if (place !== question.place) continue;
    if (rule === undefined ? coversSameCall(policy, row, inputHash) : await isCovered(rule))
      return row;
  }
  return undefined;
}

/**
 * A yes without words for a rule. Where there are no words at all it is one for the tool; where there are, and none would
 * do for this call (it is too long, or about many files), it is one for the very same call.
 */
function coversSameCall(policy: ToolPolicy, row: ApprovalRow, inputHash: string): boolean {
  return policy.covers === undefined || row.inputHash === inputHash;
}

/** A person is asked in any case, if need be without the words of the policy. */
async function describeCall(
  policy: ToolPolicy,
  question: PolicyQuestion,
): Promise<ApprovalDetails> {
  if (question.asks === "question") return { kind: "question" };
  return (await policy.describe?.(question).catch(() => ({}))) ?? {};
}

/** A tool that cannot say whether it needs a person needs one. */
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
  actual: string,
  place: CallPlace,
): Promise<CallVerdict> {
  const { id: approvalId, decision, inputHash, tool, owner, session, details } = row;
  const { answer, rule = null, by = null } = details;
  // P7: what was allowed is allowed with these arguments, in this place, and no others.
  if (inputHash !== actual) return { kind: "refused", why: "changed" };
  const run = { kind: "run", ...place, allowedBy: approvalId } as const;
  switch (decision) {
    case "always":
      // Before the call runs, so that a crash makes it remembered twice rather than not at all.
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
