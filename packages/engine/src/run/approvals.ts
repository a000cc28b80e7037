import {
  type ApprovalDetails,
  type ApprovedFile,
  type CallDecision,
  columnText,
} from "@holdfast/protocol";
import { isGrant } from "../log/fold-work.ts";
import { type Log } from "../log/log.ts";
import type { ApprovalRow } from "../ports/rows.ts";
import type {
  ApprovalNeed,
  PolicyQuestion,
  PolicyRule,
  Tool,
  ToolCall,
  ToolPolicy,
} from "../ports/tool.ts";
import type { ModelCall } from "../ports/model.ts";
import { sha256OfJson } from "../hash.ts";
import type { RunHandle } from "./run-handle.ts";
import { type ModeDeps, onlyReads, recordedMode, type RunMode } from "./session-mode.ts";

/** What happens to a call that has not started: it runs, a person is asked, or the model is told why it did not run. */
export type CallVerdict =
  | ({
      readonly kind: "run";
      readonly allowedBy?: string;
      readonly decided?: CallDecision;
      readonly answer?: string;
    } & Pick<ToolCall, "confined"> &
      CallPlace)
  | { readonly kind: "ask"; readonly inputHash: string; readonly details: ApprovalDetails }
  | {
      readonly kind: "refused";
      readonly why: keyof typeof callRefusals;
      /** What the person said about it. */
      readonly reason?: string;
    }
  | { readonly kind: "failed"; readonly message: string };

type CallPlace = Pick<ToolCall, "place" | "workspace">;

const isQuestion = (asks: ApprovalNeed): boolean => asks === "question" || asks === "plan";

/** What a run's calls are judged by besides themselves. */
export type CallCircumstances = Required<Pick<ToolCall, "rights" | "taint">>;
export type JudgedBy = CallCircumstances & RunMode;

export interface CallPolicyDeps extends ModeDeps {
  readonly log: Log;
  readonly toolPolicy?: ToolPolicy;
}

export const callRefusals = {
  unanswered: "The person did not want to answer.",
  denied:
    "A person did not allow this, so it was not run. Do not try to reach the same another way.",
  expired: "Nobody answered whether this is allowed, so it was not run.",
  forbidden: "This is not allowed here, so it was not run.",
  plan_mode:
    "The session is in plan mode, in which nothing is changed, so this was not run. Go on with what only reads, and submit a plan.",
  plan_refused: "A person did not approve the plan. The session stays in plan mode.",
  changed: "This is not what was allowed, so it was not run.",
  cancelled: "The run ended before this was begun, so it was not run.",
} as const;

/** What the model is told about a call that did not run. It can act on a person's reason. */
export function refusalText(why: keyof typeof callRefusals, reason: string | undefined): string {
  if (reason === undefined) return callRefusals[why];
  return `A person did not allow this, so it was not run. They said:\n\n${reason}`;
}

/** Asks exactly when the tools ask for it. */
const defaultPolicy: ToolPolicy = {
  decide: async ({ asks }) => ({ kind: asks === "none" ? "allow" : "ask" }),
  remember: async () => {},
};

type CallContent = Pick<ModelCall, "name" | "input">;

/** What an approval covers: any other call, or the same one shown differently, has another hash. */
function hashCall(
  { name, input }: CallContent,
  { place, workspace }: CallPlace,
  { shown, files, identity }: ApprovalDetails,
): Promise<string> {
  const where = workspace === undefined ? { ...(place !== undefined && { place }) } : { workspace };
  return sha256OfJson({
    name,
    input,
    ...where,
    ...(shown !== undefined && { shown }),
    ...(files !== undefined && { files }),
    ...(identity !== undefined && { identity }),
  });
}

async function isSameCall(row: ApprovalRow, call: CallContent, place: CallPlace): Promise<boolean> {
  const { inputHash, details } = row;
  if (inputHash === (await hashCall(call, place, details))) return true;
  // Older approvals do not hash what was shown, and the oldest have the folder's path instead of the workspace.
  if (details.files !== undefined) return false;
  if (inputHash === (await hashCall(call, place, {}))) return true;
  const { workspace: _, ...byPath } = place;
  return inputHash === (await hashCall(call, byPath, {}));
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
  { mayLeavePlan, ...circumstances }: JudgedBy,
): Promise<readonly CallVerdict[]> {
  const { toolPolicy = defaultPolicy } = deps;
  if (calls.length === 0) return [];
  const { owner, session, runId, lane } = run;
  const { taint, mode } = circumstances;
  const approvals = await deps.log.store.reads.approvalsFor(owner, session, runId);
  return Promise.all(
    calls.map(async ({ call, tool }): Promise<CallVerdict> => {
      const { callId, name, input } = call;
      const toolCall = { owner, session, runId, callId, input, lane, ...circumstances };
      const asks = approvalNeedOf(tool, call);
      // Even a call that a person has allowed: the switch to plan mode came later.
      if (mode === "plan" && !isQuestion(asks) && !onlyReads(tool, input))
        return { kind: "refused", why: "plan_mode" };
      const place = await resolvePlace(tool, toolCall);
      if ("message" in place) return { kind: "failed", message: place.message };
      const { identity } = tool;
      const asked: PolicyQuestion = {
        ...toolCall,
        name,
        asks,
        ...place,
        ...(identity !== undefined && { identity }),
      };
      const files = await filesOf(toolPolicy, asked);
      const question = { ...asked, ...(files !== undefined && { files }) };
      // A withdrawn approval binds nobody; its call is asked about again.
      const ownApproval = newestApproval(
        approvals.filter(
          (row) =>
            row.callId === callId && row.state !== "withdrawn" && row.details.inCall !== true,
        ),
      );
      const changes = ownApproval === undefined ? [] : changesSince(ownApproval, question);
      const decidedFor = async (): Promise<CallDecision> => ({
        ...(lane !== null && { lane }),
        rights: circumstances.rights.profile,
        ...(taint.length > 0 && { after: [...taint] }),
        ...(await sandboxNote(toolPolicy, question)),
      });
      if (ownApproval !== undefined && changes.length === 0) {
        const verdict = await applyAnswer(toolPolicy, ownApproval, call, place);
        return verdict.kind === "run" ? { ...verdict, decided: await decidedFor() } : verdict;
      }
      if (asks === "plan" && (mode !== "plan" || !mayLeavePlan))
        return { kind: "failed", message: mode === "plan" ? planOfChild : notInPlanMode };
      const decided = await toolPolicy.decide(question).catch(() => ({ kind: "ask" }) as const);
      if (decided.kind === "deny") return { kind: "refused", why: "forbidden" };
      const binds = decided.kind === "ask" && "binding" in decided;
      // Only a person can answer a question, whatever the rules allow.
      if (!isQuestion(asks) && !binds) {
        if (decided.kind === "allow") {
          const { rule, confined } = decided;
          return {
            kind: "run",
            ...place,
            ...(rule && { allowedBy: rule, decided: await decidedFor() }),
            ...(confined && { confined }),
          };
        }
        const covering = await findCovering(deps, toolPolicy, approvals, question);
        if (covering !== undefined)
          return {
            kind: "run",
            ...place,
            allowedBy: covering.id,
            decided: await decidedFor(),
          };
      }
      const details = await describeCall(toolPolicy, question, changes, binds);
      const inputHash = await hashCall(call, place, details);
      return {
        kind: "ask",
        inputHash,
        details: {
          ...(await decidedFor()),
          ...details,
          ...place,
          ...recordedMode(mode),
          ...(ownApproval && { replaces: ownApproval.id }),
        },
      };
    }),
  );
}

const notInPlanMode =
  "The session is not in plan mode, so there is no plan to approve. Go on with the work.";
const planOfChild =
  "This session works for another one, which is in plan mode: answer with your plan, and that session submits it.";

async function sandboxNote(
  policy: ToolPolicy,
  question: PolicyQuestion,
): Promise<Partial<CallDecision>> {
  const sandbox = isQuestion(question.asks)
    ? null
    : await policy.confines?.(question).catch(() => null);
  return sandbox == null ? {} : { sandbox };
}

/** Files that cannot be read are none, and the call is asked about: a rule is bound to those that it had. */
async function filesOf(
  policy: ToolPolicy,
  question: PolicyQuestion,
): Promise<readonly ApprovedFile[] | undefined> {
  return isQuestion(question.asks) ? undefined : policy.files?.(question).catch(() => []);
}

/** The times of two approvals can be equal, so each names the one that it replaces. */
function newestApproval(rows: readonly ApprovalRow[]): ApprovalRow | undefined {
  const replaced = new Set(rows.map(({ details }) => details.replaces));
  return rows.findLast(({ id }) => !replaced.has(id));
}

/** What has changed since a person said yes to a call that has not started. It is then asked about again. */
function changesSince({ decision, details }: ApprovalRow, question: PolicyQuestion): string[] {
  if (decision === null || decision === "deny" || decision === "expired") return [];
  const notes = changedFiles(details.files, question.files).map(
    (path) => `${JSON.stringify(path)} has changed since this was allowed.`,
  );
  return details.identity === undefined || details.identity === question.identity
    ? notes
    : [...notes, `The tool ${question.name} has changed since this was allowed.`];
}

/** The paths whose content differs. An approval from before files were recorded is bound to none. */
function changedFiles(
  before: readonly ApprovedFile[] | undefined,
  now: readonly ApprovedFile[] | undefined,
): readonly string[] {
  if (before === undefined) return [];
  const old = new Map(before.map(({ path, hash }) => [path, hash]));
  const current = new Map((now ?? []).map(({ path, hash }) => [path, hash]));
  return [...new Set([...old.keys(), ...current.keys()])].filter(
    (path) => (old.get(path) ?? null) !== (current.get(path) ?? null),
  );
}

/** An earlier yes for the session covers what its rule covers, in the workspace it was given for. */
async function findCovering(
  { log }: Pick<CallPolicyDeps, "log">,
  policy: ToolPolicy,
  approvals: readonly ApprovalRow[],
  question: PolicyQuestion,
): Promise<ApprovalRow | undefined> {
  const isCovered = async (rule: string): Promise<boolean> =>
    (await policy.covers?.(rule, question).catch(() => false)) === true;
  for (const row of approvals) {
    const { rule, files, lastsMs } = row.details;
    if (row.tool !== columnText(question.name) || !isGrant(row)) continue;
    // An answer to a question allows nothing.
    if (row.details.kind === "question") continue;
    // A permanent yes with a rule is the policy's to apply, so that revoking it there is enough.
    if (row.decision === "always" && rule !== undefined && policy.covers !== undefined) continue;
    // By the store's clock, which the answer's time is from.
    if (lastsMs !== undefined && (row.answeredAt ?? 0) + lastsMs <= (await log.store.now()))
      continue;
    if (!isSamePlace(row, question) || changedFiles(files, question.files).length > 0) continue;
    if (rule === undefined ? await coversSameCall(policy, row, question) : await isCovered(rule))
      return row;
  }
  return undefined;
}

/**
 * A yes without a rule. If the policy has no rules at all, it covers the tool; if it has, but none fits this call (too
 * long, or about many files), it covers only the identical call.
 */
async function coversSameCall(
  policy: ToolPolicy,
  row: ApprovalRow,
  question: PolicyQuestion,
): Promise<boolean> {
  return policy.covers === undefined || isSameCall(row, question, question);
}

/** The person is asked in any case, if need be without the policy's description. */
async function describeCall(
  policy: ToolPolicy,
  question: PolicyQuestion,
  changes: readonly string[],
  binds: boolean,
): Promise<ApprovalDetails> {
  if (question.asks === "plan") return { kind: "question", plan: true };
  if (question.asks === "question") return { kind: "question" };
  const described = await policy.describe?.(question).catch(() => undefined);
  const { rules, notes = [], ...details } = described ?? {};
  const { files, identity } = question;
  const allNotes = [...changes, ...notes];
  return {
    ...details,
    ...(files !== undefined && { files: [...files] }),
    ...(identity !== undefined && { identity }),
    ...(allNotes.length > 0 && { notes: allNotes }),
    ...(binds ? { onceOnly: true } : rules !== undefined && { rules }),
  };
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
  call: CallContent,
  place: CallPlace,
): Promise<CallVerdict> {
  const { id: approvalId, decision, details } = row;
  const { answer } = details;
  // P7: an approval holds for these arguments in this workspace and no others.
  if (!(await isSameCall(row, call, place))) return { kind: "refused", why: "changed" };
  const run = { kind: "run", ...place, allowedBy: approvalId } as const;
  switch (decision) {
    case "always":
      // Remember before the call runs: a crash then remembers twice rather than not at all.
      await policy.remember(permanentRule(row)).catch(() => {});
      return run;
    case "once":
    case "session":
      return answer === undefined ? run : { ...run, answer };
    case "deny":
      return {
        kind: "refused",
        why: refusalOf(details),
        ...(answer !== undefined && { reason: answer }),
      };
    case "expired":
      return { kind: "refused", why: "expired" };
    case null:
      return { kind: "refused", why: "cancelled" };
  }
}

function refusalOf({ kind, plan }: ApprovalDetails): keyof typeof callRefusals {
  if (plan === true) return "plan_refused";
  return kind === "question" ? "unanswered" : "denied";
}

/** What a permanent yes hands to the policy. */
export function permanentRule(row: ApprovalRow): PolicyRule {
  const { id: approvalId, tool, owner, session, answeredAt, details } = row;
  const { rule = null, by = null, files, lastsMs } = details;
  return {
    owner,
    tool,
    approvalId,
    session,
    rule,
    by,
    ...(files !== undefined && { files }),
    ...(lastsMs !== undefined && { until: (answeredAt ?? 0) + lastsMs }),
  };
}
