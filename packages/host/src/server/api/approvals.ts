import { answerApproval, type ApprovalCursor, type ApprovalRow } from "@holdfast/engine";
import { approvalId, type ApprovalView } from "@holdfast/protocol";
import { z } from "zod";

import { principalName } from "../auth/doorkeeper.ts";
import type { Route } from "../http/route.ts";
import type { HostPolicy } from "../../agent/policy/policy.ts";
import { type Call, mountCall } from "./contract.ts";
import type { ApiDeps } from "./deps.ts";
import { answer, problem, problemFrom } from "./reply.ts";

const defaultApprovalLimit = 100;

export function approvalRoutes(parts: ApiDeps): Route[] {
  const { log, ids, runner, toolset: hands, report } = parts;

  async function listApprovals({ owner, query }: Call<"listApprovals">) {
    const { sessionId, limit = defaultApprovalLimit, cursor } = query;
    const after = cursor === undefined ? undefined : decodeApprovalCursor(cursor);
    if (after === null) return badApprovalCursor;
    const page = await log.store.reads.approvals(owner, {
      limit,
      ...(sessionId && { session: sessionId }),
      ...(after && { after }),
    });
    return answer({
      approvals: page.approvals.map(viewApproval),
      nextCursor: page.next && encodeApprovalCursor(page.next),
    });
  }

  /** The word is durable when this answers; the run goes on here at once, or elsewhere with the next sweep. */
  async function answerOne({ owner, principal, params, body }: Call<"answerApproval">) {
    const { decision, answer: words, rule } = body;
    const row = await log.store.reads.approval(owner, params.id);
    if (row === null) return problem("approval_not_found");
    const wrong = await validateAnswer(hands.policy, row, body);
    if (wrong !== null) return problem("invalid_request", { errors: [wrong] });
    const said = {
      by: principalName(principal),
      ...(words && { answer: words }),
      ...(rule && { rule }),
    };
    const result = await answerApproval(log, ids, owner, params.id, decision, said);
    switch (result.status) {
      case "answered":
        await rememberRule(result.approval);
        runner.notify(owner, result.approval.session);
        return answer({ approval: viewApproval(result.approval) });
      case "not_found":
        return problem("approval_not_found");
      default:
        return problemFrom(result);
    }
  }

  /** The runner does the same before the call runs; done here too, it is there for whoever looks at the rules next. */
  async function rememberRule(row: ApprovalRow): Promise<void> {
    const { id, owner, tool, session, decision, details } = row;
    if (decision !== "always") return;
    const { rule = null, by = null } = details;
    const kept = { owner, tool, approvalId: id, session, rule, by };
    await hands.policy.remember(kept).catch((error: unknown) => report(asError(error)));
  }

  return [
    mountCall(parts, "listApprovals", listApprovals),
    mountCall(parts, "answerApproval", answerOne),
  ];
}

function viewApproval(row: ApprovalRow): ApprovalView {
  const { id, session, owner: _, tool, details, ...shown } = row;
  return { ...shown, ...details, approvalId: id, sessionId: session, name: tool };
}

type ApprovalAnswer = Call<"answerApproval">["body"];

/** A word must fit what was asked. A rule must cover the very call that it is given for: nobody allows by mistake what they did not see. */
async function validateAnswer(
  policy: HostPolicy,
  row: ApprovalRow,
  { decision, answer: words, rule }: ApprovalAnswer,
): Promise<{ readonly path: string; readonly message: string } | null> {
  const isQuestion = row.details.kind === "question";
  const object = (path: string, message: string) => ({ path, message });
  if (!isQuestion && words !== undefined) return object("answer", "this is not a question");
  if (isQuestion && decision !== "once" && decision !== "deny")
    return object("decision", "expected once or deny: this is a question");
  if (isQuestion && (decision === "once") !== (words !== undefined))
    return object("answer", "expected an answer, or a denial without one");
  if (rule === undefined) return null;
  if (decision !== "session" && decision !== "always")
    return object("rule", "a rule goes with session or always");
  const { owner, session, runId, callId, input, tool: name, details } = row;
  const place = details.place === undefined ? {} : { place: details.place };
  const question = { owner, session, runId, callId, input, name, asks: "ask", ...place } as const;
  const isCovering = await policy.covers(rule, question);
  return isCovering ? null : object("rule", "expected a rule that covers this call");
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

const approvalCursor = z.tuple([z.int().nonnegative(), approvalId]);

const badApprovalCursor = problem("invalid_request", {
  errors: [{ path: "cursor", message: "expected a cursor that the list has given" }],
});

function encodeApprovalCursor({ askedAt, id }: ApprovalCursor): string {
  return Buffer.from(JSON.stringify([askedAt, id])).toString("base64url");
}

function decodeApprovalCursor(text: string): ApprovalCursor | null {
  try {
    const [askedAt, id] = approvalCursor.parse(
      JSON.parse(Buffer.from(text, "base64url").toString()),
    );
    return { askedAt, id };
  } catch {
    return null;
  }
}
