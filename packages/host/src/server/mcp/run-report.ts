import type { ApprovalRow, RunRow } from "@holdfast/engine";
import { type OwnerId, type RunId, type RunState, terminalStates } from "@holdfast/protocol";
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { ApiDeps } from "../api/deps.ts";
import type { McpCaller } from "./caller.ts";
import { readRunText } from "./run-text.ts";

/** Where a run stands, read from the store: the same on every host and after every restart. */
export interface RunReport {
  readonly run: RunRow;
  /** What the agent wrote; empty while the run goes on. */
  readonly text: string;
  /** What it waits for a person to answer. */
  readonly approvals: readonly ApprovalRow[];
}

const maxApprovals = 100;

export async function readRunReport(
  deps: Pick<ApiDeps, "engine" | "log">,
  owner: OwnerId,
  id: RunId,
): Promise<RunReport | null> {
  const { reads } = deps.log.store;
  const run = await reads.run(owner, id);
  if (run === null) return null;
  if (terminalStates.has(run.state))
    return { run, approvals: [], text: await readRunText(deps, owner, run) };
  const { approvals } = await reads.approvals(owner, { session: run.session, limit: maxApprovals });
  return { run, text: "", approvals: approvals.filter(({ runId }) => runId === id) };
}

export function isApprovalOf(report: RunReport, id: string): ApprovalRow | undefined {
  return report.approvals.find((approval) => approval.id === id);
}

export function isQuestion({ details }: ApprovalRow): boolean {
  return details.kind === "question";
}

/** Exactly what would be done, with invisible characters made visible. */
export function shownCall({ tool, details, input }: ApprovalRow): string {
  return details.shown ?? `${tool} ${JSON.stringify(input)}`;
}

/** The result of `session_send` and `run_read`, and of a task that is over. */
export function runResult(
  report: RunReport,
  caller: Pick<McpCaller, "pageAddress">,
): CallToolResult {
  const { run, text, approvals } = report;
  return {
    content: [{ type: "text", text: runText(report, caller) }],
    structuredContent: {
      session_id: run.session,
      run_id: run.id,
      state: run.state,
      ...(run.cause !== null && { cause: run.cause }),
      ...(terminalStates.has(run.state) && { text }),
      ...(approvals.length > 0 && { approvals: approvals.map(viewApproval) }),
    },
    isError: failedStates.has(run.state),
  };
}

const failedStates: ReadonlySet<RunState> = new Set(["failed", "interrupted", "limit"]);

export function viewApproval(approval: ApprovalRow) {
  return {
    approval_id: approval.id,
    session_id: approval.session,
    run_id: approval.runId,
    kind: isQuestion(approval) ? "question" : "approval",
    tool: approval.tool,
    shown: shownCall(approval),
    asked_at: new Date(approval.askedAt).toISOString(),
  };
}

function runText(report: RunReport, { pageAddress }: Pick<McpCaller, "pageAddress">): string {
  const { run, text, approvals } = report;
  if (run.state === "completed") return text;
  if (terminalStates.has(run.state)) {
    const end = `The run ended as ${run.state}${run.cause === null ? "" : ` (${run.cause})`}.`;
    return text === "" ? end : `${text}\n\n${end}`;
  }
  const poll = `Read it again with run_read and the run id ${run.id}.`;
  if (approvals.length === 0) return `The agent is still working (${run.state}). ${poll}`;
  const waiting = approvals.map((approval) => `${approval.id}: ${shownCall(approval)}`).join("\n");
  const place = `${pageAddress}?session=${run.session}`;
  return `The agent waits for a person's answer at ${place}:\n${waiting}\n${poll}`;
}
