import type { ApprovalRow } from "@holdfast/engine";
import type { Result } from "@holdfast/client";
import type { ApprovalId } from "@holdfast/protocol";
import type { RightsResolver } from "../../rights/resolve-rights.ts";
import { type McpCaller, mcpLane } from "./caller.ts";
import { isQuestion } from "./run-report.ts";

export interface ApprovalAnswer {
  readonly decision: "once" | "session" | "deny";
  readonly answer?: string;
}

export interface AnswerRefusal {
  readonly code: "mcp_approvals_off" | "forbidden";
  readonly sentence: string;
}

/** Answers of MCP clients. An agent behind one would approve itself, so the operator has to allow them. */
export interface ApprovalAnswers {
  /** Why this caller may not answer it; `null` if they may. */
  refusal(caller: McpCaller, approval: ApprovalRow): Promise<AnswerRefusal | null>;
  answer(caller: McpCaller, id: ApprovalId, answer: ApprovalAnswer): Promise<Result<unknown>>;
}

export function createApprovalAnswers(
  rights: Pick<RightsResolver, "ofLane">,
  allowed: "on" | "off",
): ApprovalAnswers {
  return {
    async refusal({ owner }, approval) {
      if (!(await rights.ofLane(owner, mcpLane)).approvals)
        return {
          code: "forbidden",
          sentence: "The rights profile of this client answers no approvals. Answer on the page.",
        };
      // A question has no effect of its own.
      if (allowed === "on" || isQuestion(approval)) return null;
      return {
        code: "mcp_approvals_off",
        sentence:
          "MCP clients may not answer approvals here. Answer on the page, or let the operator set mcpApprovals to on.",
      };
    },
    answer: ({ client }, id, { decision, answer }) =>
      client.answerApproval({
        params: { id },
        body: { decision, ...(answer !== undefined && { answer }) },
      }),
  };
}
