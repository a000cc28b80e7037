import { answerApproval, type ApprovalCursor, type ApprovalRow } from "@holdfast/engine";
import { approvalId, type ApprovalView } from "@holdfast/protocol";
import { z } from "zod";

import type { Route } from "../http/index.ts";
import { type Call, mountCall } from "./contract.ts";
import type { ApiParts } from "./parts.ts";
import { answer, problem, problemFrom } from "./reply.ts";

const defaultLimit = 100;

export function approvalRoutes(parts: ApiParts): Route[] {
  const { log, ids, runner } = parts;

  async function listApprovals({ owner, query }: Call<"listApprovals">) {
    const { sessionId, limit = defaultLimit, cursor } = query;
    const after = cursor === undefined ? undefined : decodeCursor(cursor);
    if (after === null) return badCursor;
    const page = await log.store.reads.approvals(owner, {
      limit,
      ...(sessionId && { session: sessionId }),
      ...(after && { after }),
    });
    return answer({
      approvals: page.approvals.map(viewApproval),
      nextCursor: page.next && encodeCursor(page.next),
    });
  }

  /** The word is durable when this answers; the run goes on here at once, or elsewhere with the next sweep. */
  async function answerOne({ owner, params, body }: Call<"answerApproval">) {
    const result = await answerApproval(log, ids, owner, params.id, body.decision);
    switch (result.status) {
      case "answered":
        runner.poke(owner, result.approval.session);
        return answer({ approval: viewApproval(result.approval) });
      case "not_found":
        return problem("approval_not_found");
      default:
        return problemFrom(result);
    }
  }

  return [
    mountCall(parts, "listApprovals", listApprovals),
    mountCall(parts, "answerApproval", answerOne),
  ];
}

function viewApproval(row: ApprovalRow): ApprovalView {
  const { id, session, owner: _, tool, ...shown } = row;
  return { ...shown, approvalId: id, sessionId: session, name: tool };
}

const cursorSchema = z.tuple([z.int().nonnegative(), approvalId]);

const badCursor = problem("invalid_request", {
  errors: [{ path: "cursor", message: "expected a cursor that the list has given" }],
});

function encodeCursor({ askedAt, id }: ApprovalCursor): string {
  return Buffer.from(JSON.stringify([askedAt, id])).toString("base64url");
}

function decodeCursor(text: string): ApprovalCursor | null {
  try {
    const [askedAt, id] = cursorSchema.parse(JSON.parse(Buffer.from(text, "base64url").toString()));
    return { askedAt, id };
  } catch {
    return null;
  }
}
