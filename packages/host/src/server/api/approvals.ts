import { z } from "zod";
import {
  answerApproval,
  type AnsweredCursor,
  type ApprovalRow,
  isGrant,
  modeOfRun,
  permanentRule,
  revokeGrant,
} from "@holdfast/engine";
import {
  approvalId,
  type ApprovalId,
  approvedMode,
  type ApprovalView,
  type AuditEntry,
  decodeEvent,
  type GrantView,
  type OwnerId,
  ownerRights,
  planAnswers,
  type Seq,
  seq,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import { createModeLimit } from "../../rights/session-modes.ts";
import { openRightsResolver } from "../../rights/resolve-rights.ts";
import { type Principal, principalName } from "../auth/principal.ts";
import type { Route } from "../http/routing.ts";
import type { HostPolicy } from "../../agent/policy/policy.ts";
import { markTooWide } from "../../agent/policy/stored-rules.ts";
import { answer, type Call, mountCall, problem, problemFrom } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";

const defaultApprovalLimit = 100;

export function approvalRoutes(deps: ApiDeps): Route[] {
  const { log, ids, engine, toolset, report, apiKeys } = deps;
  const rights = openRightsResolver(log.store.register);
  const modeLimit = createModeLimit(log.store.reads);

  /** Whoever runs the host also answers for programs: their keys answer no approvals unless told. */
  async function programOwners(principal: Principal): Promise<readonly OwnerId[]> {
    return principal.by === "api-key" ? [] : apiKeys.owners();
  }

  async function findApproval(owner: OwnerId, principal: Principal, id: ApprovalId) {
    const own = await log.store.reads.approval(owner, id);
    if (own !== null) return own;
    for (const program of await programOwners(principal)) {
      const row = await log.store.reads.approval(program, id);
      if (row !== null) return row;
    }
    return null;
  }

  /** Those of programs come first, with the first page. */
  async function approvalsOfPrograms(principal: Principal, limit: number) {
    const owners = await programOwners(principal);
    const pages = owners.map((program) => log.store.reads.approvals(program, { limit }));
    return (await Promise.all(pages)).flatMap((page) => page.approvals);
  }

  async function listApprovals({ owner, principal, query }: Call<"listApprovals">) {
    const { sessionId, limit = defaultApprovalLimit, cursor } = query;
    const after = cursor === undefined ? undefined : decodeCursor(cursor, approvalCursor);
    if (after === null) return badCursor;
    const page = await log.store.reads.approvals(owner, {
      limit,
      ...(sessionId && { session: sessionId }),
      ...(after && { after: { askedAt: after[0], id: after[1] } }),
    });
    const isFirst = cursor === undefined && sessionId === undefined;
    const others = isFirst ? await approvalsOfPrograms(principal, limit) : [];
    return answer({
      approvals: [...others, ...page.approvals].map(viewApproval),
      nextCursor: page.next && encodeCursor([page.next.askedAt, page.next.id]),
    });
  }

  /** The answer is durable before we respond; the run resumes here at once, or elsewhere at the next sweep. */
  async function answerOne({ owner, principal, params, body }: Call<"answerApproval">) {
    const { decision, answer: answerText, rule, lastsSeconds } = body;
    if (principal.by === "api-key" && !(await rights.ofLane(owner, null)).approvals)
      return problem("forbidden", { detail: "The profile of this API key answers no approvals." });
    const row = await findApproval(owner, principal, params.id);
    if (row === null) return problem("approval_not_found");
    const invalid =
      (await validateAnswer(toolset.policy, row, body)) ?? (await refuseInPlanMode(row, decision));
    if (invalid !== null) return problem("invalid_request", { errors: [invalid] });
    const plan = row.details.plan === true ? planAnswerOf(body) : null;
    const answerDetails = {
      by: principalName(principal),
      ...(answerText && { answer: answerText }),
      ...plan?.details,
      ...(rule && { rule }),
      ...(lastsSeconds && { lastsMs: lastsSeconds * 1_000 }),
    };
    const decided = plan?.decision ?? decision;
    const result = await answerApproval(log, ids, row.owner, params.id, decided, answerDetails);
    switch (result.status) {
      case "answered":
        await rememberRule(result.approval);
        engine.notify(row.owner, result.approval.session);
        return answer({ approval: viewApproval(result.approval) });
      case "not_found":
        return problem("approval_not_found");
      default:
        return problemFrom(result);
    }
  }

  /** The call would be refused when it starts, so the person is told now. */
  async function refuseInPlanMode({ owner, session, details }: ApprovalRow, decision: string) {
    if (decision === "deny" || details.kind === "question") return null;
    const { mode } = await modeOfRun(
      { modeLimit },
      log.store.reads,
      { owner, session },
      ownerRights,
    );
    if (mode !== "plan") return null;
    const message = "expected deny: the session is in plan mode, in which nothing is changed";
    return { path: "decision", message };
  }

  /**
   * The runner stores the rule before the call runs; storing it here too makes it visible in the list of rules at once.
   */
  async function rememberRule(row: ApprovalRow): Promise<void> {
    if (row.decision !== "always") return;
    const rule = permanentRule(row);
    await toolset.policy.remember(rule).catch((error: unknown) => report(asError(error)));
  }

  return [
    mountCall(deps, "listApprovals", listApprovals),
    mountCall(deps, "answerApproval", answerOne),
  ];
}

function viewApproval(row: ApprovalRow): ApprovalView {
  const { id, session, owner: _, tool, details, ...shown } = row;
  return { ...shown, ...details, approvalId: id, sessionId: session, name: tool };
}

type ApprovalAnswer = Call<"answerApproval">["body"];

/** A comment on a plan is an answer, whichever way it is sent. */
function planAnswerOf({ decision, answer: comment, mode }: ApprovalAnswer) {
  if (mode !== undefined)
    return { decision: "once", details: { answer: planAnswers[mode] } } as const;
  return { decision: comment === undefined ? decision : "once", details: {} } as const;
}

/** A plan is approved with a mode or the words for it, commented on with other words, or refused without any. */
function invalidPlanAnswer({ decision, answer: comment, mode }: ApprovalAnswer) {
  const invalidField = (path: string, message: string) => ({ path, message });
  if (decision !== "once" && decision !== "deny")
    return invalidField("decision", "expected once or deny: this is a plan");
  if (mode !== undefined && (decision === "deny" || comment !== undefined))
    return invalidField("mode", "expected only to approve, without an answer");
  if (decision === "deny" && comment !== undefined && approvedMode(comment) !== null)
    return invalidField("answer", "expected a comment: this would approve the plan");
  if (decision === "once" && mode === undefined && comment === undefined)
    return invalidField("mode", "expected ask or edits, or an answer with a comment");
  return null;
}

/** A rule must cover the very call it is given for, so that nobody allows by mistake what they did not see. */
async function validateAnswer(
  policy: HostPolicy,
  row: ApprovalRow,
  body: ApprovalAnswer,
): Promise<{ readonly path: string; readonly message: string } | null> {
  const { decision, answer: answerText, rule, lastsSeconds, mode } = body;
  const isQuestion = row.details.kind === "question";
  const invalidField = (path: string, message: string) => ({ path, message });
  if (row.details.plan === true) return invalidPlanAnswer(body);
  if (mode !== undefined) return invalidField("mode", "expected only for a plan");
  if (!isQuestion && answerText !== undefined && decision !== "deny")
    return invalidField("answer", "expected only with deny, as its reason: this is not a question");
  if (isQuestion && decision !== "once" && decision !== "deny")
    return invalidField("decision", "expected once or deny: this is a question");
  if (isQuestion && (decision === "once") !== (answerText !== undefined))
    return invalidField("answer", "expected an answer, or a denial without one");
  const isLasting = decision === "session" || decision === "always";
  if (row.details.hidden !== undefined && decision !== "deny")
    return invalidField("decision", "expected deny: the call is too long to show in full");
  if (row.details.onceOnly === true && isLasting)
    return invalidField("decision", "expected once or deny: an operator's rule asks each time");
  if (lastsSeconds !== undefined && !isLasting)
    return invalidField("lastsSeconds", "expected only with session or always");
  if (rule === undefined) return null;
  if (!isLasting) return invalidField("rule", "expected only with session or always");
  const { owner, session, runId, callId, input, tool: name, details } = row;
  // The host that asked offered this rule for the call; the folder it saw may be on another machine.
  if (details.rules?.includes(rule) === true) return null;
  const { place, identity } = details;
  const question = {
    owner,
    session,
    runId,
    callId,
    input,
    name,
    asks: "ask",
    ...(place !== undefined && { place }),
    ...(identity !== undefined && { identity }),
  } as const;
  const refusal = await policy.refuseRule(rule, question);
  return refusal === null ? null : invalidField("rule", refusal);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

const approvalCursor = z.tuple([z.int().nonnegative(), approvalId]);

const badCursor = problem("invalid_request", {
  errors: [{ path: "cursor", message: "expected a cursor that the list has given" }],
});

const defaultAuditLimit = 100;
const pageSize = 500;
/** Bounds the log pages one request scans; the next request continues from the cursor. */
const maxPages = 20;

export function ruleRoutes(deps: ApiDeps): Route[] {
  const { toolset, log, ids } = deps;
  const { reads } = log.store;

  async function listGrants({ owner, query }: Call<"listGrants">) {
    const { sessionId: session, limit = defaultAuditLimit, cursor } = query;
    const from = cursor === undefined ? undefined : decodeCursor(cursor, approvalCursor);
    if (from === null) return badCursor;
    let before: AnsweredCursor | null = from ? { answeredAt: from[0], id: from[1] } : null;
    const grants: GrantView[] = [];
    const now = await log.store.now();
    for (let pages = 0; pages < maxPages; pages += 1) {
      const page = await reads.answered(owner, {
        limit: pageSize,
        ...(session && { session }),
        ...(before && { before }),
      });
      for (const row of page.approvals) {
        grants.push(...grantOf(row, now));
        before = { answeredAt: row.answeredAt ?? 0, id: row.id };
        if (grants.length >= limit)
          return answer({ grants, nextCursor: encodeCursor([before.answeredAt, before.id]) });
      }
      if (page.next === null) return answer({ grants, nextCursor: null });
      before = page.next;
    }
    return answer({ grants, nextCursor: before && encodeCursor([before.answeredAt, before.id]) });
  }

  async function revoke({ owner, principal, params }: Call<"revokeGrant">) {
    const result = await revokeGrant(log, ids, owner, params.id, principalName(principal));
    if (result.status === "not_found") return problem("grant_not_found");
    return result.status === "answered" ? answer(undefined) : problemFrom(result);
  }

  async function removeRule({ owner, params }: Call<"removeRule">) {
    const result = await toolset.rules.remove(owner, params.id);
    if (result === "not_found") return problem("rule_not_found");
    return result === "removed" ? answer(undefined) : problemFrom(result);
  }

  async function listAudit({ owner, query }: Call<"listAudit">) {
    const { sessionId, limit = defaultAuditLimit, cursor } = query;
    if (sessionId !== undefined) return auditSession(owner, sessionId, limit, cursor);
    const before = cursor === undefined ? undefined : decodeCursor(cursor, approvalCursor);
    if (before === null) return badCursor;
    const page = await reads.answered(owner, {
      limit,
      ...(before && { before: { answeredAt: before[0], id: before[1] } }),
    });
    const nextCursor = page.next && encodeCursor([page.next.answeredAt, page.next.id]);
    return answer({ entries: page.approvals.flatMap(auditEntriesOf), nextCursor });
  }

  /** Reads the log in order: what was answered, and what a rule allowed to run. */
  async function auditSession(owner: OwnerId, id: SessionId, limit: number, cursor?: string) {
    let after: Seq | null = cursor === undefined ? seq.parse(0) : decodeCursor(cursor, seq);
    if (after === null) return badCursor;
    const entries: AuditEntry[] = [];
    for (let pages = 0; pages < maxPages; pages += 1) {
      const page = await reads.events(owner, id, { after, limit: pageSize });
      if (page === null) return problem("session_not_found");
      for (const event of page.events) {
        entries.push(...(await entriesFrom(owner, id, event)));
        after = event.seq;
        if (entries.length >= limit) return answer({ entries, nextCursor: encodeCursor(after) });
      }
      if (!page.more) return answer({ entries, nextCursor: null });
    }
    return answer({ entries, nextCursor: encodeCursor(after) });
  }

  async function entriesFrom(
    owner: OwnerId,
    sessionId: SessionId,
    stored: StoredEvent,
  ): Promise<readonly AuditEntry[]> {
    if (stored.type !== "approval.answered" && stored.type !== "tool.started") return [];
    const decoded = decodeEvent(stored);
    if (decoded.kind !== "known") return [];
    const { event } = decoded;
    if (event.type === "approval.answered") {
      const row = await reads.approval(owner, event.data.approvalId);
      return row === null ? [] : auditEntriesOf(row);
    }
    if (event.type !== "tool.started" || event.runId === undefined) return [];
    const { callId, name: tool, allowedBy, decided, mode } = event.data;
    const by = approvalId.safeParse(allowedBy);
    const row = by.success ? await reads.approval(owner, by.data) : null;
    // A call allowed by its own approval is reported with that approval.
    if (allowedBy === undefined || row?.callId === callId) return [];
    const { at, runId } = event;
    const rule = row?.details.rule ?? allowedBy;
    const circumstances = { ...decided, ...(mode && { mode }) };
    return [{ at, sessionId, runId, callId, tool, what: "ran", rule, ...circumstances }];
  }

  return [
    mountCall(deps, "listRules", async ({ owner }) =>
      answer({ rules: (await toolset.rules.list(owner)).map(markTooWide) }),
    ),
    mountCall(deps, "listGrants", listGrants),
    mountCall(deps, "revokeGrant", revoke),
    mountCall(deps, "removeRule", removeRule),
    mountCall(deps, "listAudit", listAudit),
  ];
}

/** A permanent yes with a rule is listed with the rules. */
function grantOf(row: ApprovalRow, now: number): readonly GrantView[] {
  const { id, session: sessionId, tool, decision, answeredAt, details } = row;
  const { rule, shown, by, files, lastsMs } = details;
  if (!isGrant(row) || answeredAt === null) return [];
  if (decision === "always" && rule !== undefined) return [];
  const until = lastsMs === undefined ? undefined : answeredAt + lastsMs;
  if (until !== undefined && until <= now) return [];
  return [
    {
      id,
      sessionId,
      tool,
      madeAt: answeredAt,
      ...(rule !== undefined && { rule }),
      ...(shown !== undefined && { shown }),
      ...(by !== undefined && { by }),
      ...(until !== undefined && { until }),
      ...(files !== undefined && { files }),
    },
  ];
}

function auditEntriesOf(row: ApprovalRow): readonly AuditEntry[] {
  const { answeredAt, decision, session: sessionId, runId, callId, tool, details } = row;
  if (answeredAt === null || decision === null) return [];
  const { shown, rule, by, mode, lane, rights, after, sandbox } = details;
  const optional = {
    ...(lane && { lane }),
    ...(rights && { rights }),
    ...(after && { after }),
    ...(sandbox && { sandbox }),
    ...(shown && { shown }),
    ...(rule && { rule }),
    ...(by && { by }),
    ...(mode && { mode }),
  };
  return [{ at: answeredAt, sessionId, runId, callId, tool, what: decision, ...optional }];
}

function encodeCursor(cursor: readonly [number, AnsweredCursor["id"]] | Seq): string {
  return Buffer.from(JSON.stringify(cursor)).toString("base64url");
}

function decodeCursor<S extends z.ZodType>(text: string, schema: S): z.infer<S> | null {
  try {
    return schema.parse(JSON.parse(Buffer.from(text, "base64url").toString()));
  } catch {
    return null;
  }
}
