import { z } from "zod";
import { answerApproval, type ApprovalRow, type AnsweredCursor } from "@holdfast/engine";
import {
  approvalId,
  type ApprovalView,
  type AuditEntry,
  decodeEvent,
  type OwnerId,
  type Seq,
  seq,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import { principalName } from "../auth/authenticator.ts";
import type { Route } from "../http/routing.ts";
import type { HostPolicy } from "../../agent/policy/policy.ts";
import { answer, type Call, mountCall, problem, problemFrom } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";

const defaultApprovalLimit = 100;

export function approvalRoutes(deps: ApiDeps): Route[] {
  const { log, ids, engine, toolset, report } = deps;

  async function listApprovals({ owner, query }: Call<"listApprovals">) {
    const { sessionId, limit = defaultApprovalLimit, cursor } = query;
    const after = cursor === undefined ? undefined : decodeCursor(cursor, approvalCursor);
    if (after === null) return badCursor;
    const page = await log.store.reads.approvals(owner, {
      limit,
      ...(sessionId && { session: sessionId }),
      ...(after && { after: { askedAt: after[0], id: after[1] } }),
    });
    return answer({
      approvals: page.approvals.map(viewApproval),
      nextCursor: page.next && encodeCursor([page.next.askedAt, page.next.id]),
    });
  }

  /** The answer is durable before we respond; the run resumes here at once, or elsewhere at the next sweep. */
  async function answerOne({ owner, principal, params, body }: Call<"answerApproval">) {
    const { decision, answer: answerText, rule } = body;
    const row = await log.store.reads.approval(owner, params.id);
    if (row === null) return problem("approval_not_found");
    const invalid = await validateAnswer(toolset.policy, row, body);
    if (invalid !== null) return problem("invalid_request", { errors: [invalid] });
    const answerDetails = {
      by: principalName(principal),
      ...(answerText && { answer: answerText }),
      ...(rule && { rule }),
    };
    const result = await answerApproval(log, ids, owner, params.id, decision, answerDetails);
    switch (result.status) {
      case "answered":
        await rememberRule(result.approval);
        engine.notify(owner, result.approval.session);
        return answer({ approval: viewApproval(result.approval) });
      case "not_found":
        return problem("approval_not_found");
      default:
        return problemFrom(result);
    }
  }

  /**
   * The runner stores the rule before the call runs; storing it here too makes it visible in the list of rules at once.
   */
  async function rememberRule(row: ApprovalRow): Promise<void> {
    const { id, owner, tool, session, decision, details } = row;
    if (decision !== "always") return;
    const { rule = null, by = null } = details;
    const grant = { owner, tool, approvalId: id, session, rule, by };
    await toolset.policy.remember(grant).catch((error: unknown) => report(asError(error)));
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

/** A rule must cover the very call it is given for, so that nobody allows by mistake what they did not see. */
async function validateAnswer(
  policy: HostPolicy,
  row: ApprovalRow,
  { decision, answer: answerText, rule }: ApprovalAnswer,
): Promise<{ readonly path: string; readonly message: string } | null> {
  const isQuestion = row.details.kind === "question";
  const invalidField = (path: string, message: string) => ({ path, message });
  if (!isQuestion && answerText !== undefined)
    return invalidField("answer", "this is not a question");
  if (isQuestion && decision !== "once" && decision !== "deny")
    return invalidField("decision", "expected once or deny: this is a question");
  if (isQuestion && (decision === "once") !== (answerText !== undefined))
    return invalidField("answer", "expected an answer, or a denial without one");
  if (rule === undefined) return null;
  if (decision !== "session" && decision !== "always")
    return invalidField("rule", "a rule goes with session or always");
  const { owner, session, runId, callId, input, tool: name, details } = row;
  // The host that asked offered this rule for the call; the folder it saw may be on another machine.
  if (details.rules?.includes(rule) === true) return null;
  const cursor = details.place === undefined ? {} : { place: details.place };
  const question = { owner, session, runId, callId, input, name, asks: "ask", ...cursor } as const;
  const isCovering = await policy.covers(rule, question);
  return isCovering ? null : invalidField("rule", "expected a rule that covers this call");
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
  const { toolset, log } = deps;
  const { reads } = log.store;

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
    const { callId, name: tool, allowedBy } = event.data;
    const by = approvalId.safeParse(allowedBy);
    const row = by.success ? await reads.approval(owner, by.data) : null;
    // A call allowed by its own approval is reported with that approval.
    if (allowedBy === undefined || row?.callId === callId) return [];
    const { at, runId } = event;
    const rule = row?.details.rule ?? allowedBy;
    return [{ at, sessionId, runId, callId, tool, what: "ran", rule }];
  }

  return [
    mountCall(deps, "listRules", async ({ owner }) =>
      answer({ rules: [...(await toolset.rules.list(owner))] }),
    ),
    mountCall(deps, "removeRule", removeRule),
    mountCall(deps, "listAudit", listAudit),
  ];
}

function auditEntriesOf(row: ApprovalRow): readonly AuditEntry[] {
  const { answeredAt, decision, session: sessionId, runId, callId, tool, details } = row;
  if (answeredAt === null || decision === null) return [];
  const { shown, rule, by } = details;
  const optional = { ...(shown && { shown }), ...(rule && { rule }), ...(by && { by }) };
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
