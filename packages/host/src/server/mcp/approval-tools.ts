import { approvalId, sessionId } from "@holdfast/protocol";
import type { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { ApiDeps } from "../api/deps.ts";
import type { ApprovalAnswers } from "./answer-approvals.ts";
import type { McpCaller } from "./caller.ts";
import { shownCall, viewApproval } from "./run-report.ts";
import { resultOf, toolRefusal, toolResult } from "./tool-result.ts";

const maxListed = 100;

export interface ApprovalToolDeps extends Pick<ApiDeps, "log"> {
  readonly answers: ApprovalAnswers;
}

export function registerApprovalTools(
  server: McpServer,
  { log, answers }: ApprovalToolDeps,
  caller: McpCaller,
): void {
  const { reads } = log.store;

  server.registerTool(
    "approvals_list",
    {
      title: "List open approvals",
      description: "Lists what the agent waits for a person to allow or to answer.",
      inputSchema: z.object({ session_id: sessionId.optional() }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    async ({ session_id: session }) => {
      const { approvals } = await reads.approvals(caller.owner, {
        limit: maxListed,
        ...(session !== undefined && { session }),
      });
      const lines = approvals.map((approval) => `${approval.id}: ${shownCall(approval)}`);
      return toolResult(lines.length === 0 ? "Nothing waits for an answer." : lines.join("\n"), {
        approvals: approvals.map(viewApproval),
      });
    },
  );

  server.registerTool(
    "approvals_answer",
    {
      title: "Answer an approval or a question",
      description:
        "Answers a question of the agent. Approvals can be answered only where the operator has allowed it, and only on the word of a person.",
      inputSchema: z.object({
        approval_id: approvalId,
        decision: z.enum(["once", "session", "deny"]),
        answer: z.string().min(1).max(10_000).optional().describe("The answer to a question"),
      }),
      annotations: { idempotentHint: true, destructiveHint: true },
    },
    async ({ approval_id: id, decision, answer }) => {
      const approval = await reads.approval(caller.owner, id);
      if (approval === null)
        return toolRefusal(
          "approval_not_found",
          "There is no such approval. approvals_list names the open ones.",
        );
      const refusal = await answers.refusal(caller, approval);
      if (refusal !== null) return toolRefusal(refusal.code, refusal.sentence);
      const given = { decision, ...(answer !== undefined && { answer }) };
      return resultOf(answers.answer(caller, id, given), () =>
        toolResult("Answered.", { approval_id: id, run_id: approval.runId, decision }),
      );
    },
  );
}
