import { type ApprovalDetails, columnText } from "@holdfast/protocol";

import { holdsForSession } from "../log/fold-approvals.ts";
import { type Log } from "../log/log.ts";
import type { ApprovalRow } from "../ports/rows.ts";
import type { ApprovalNeed, PolicyQuestion, Tool, ToolCall, ToolPolicy } from "../ports/tool.ts";
import type { ModelCall } from "../ports/model.ts";
import { sha256OfJson } from "../run-hash.ts";
import type { RunHandle } from "./run-handle.ts";

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
