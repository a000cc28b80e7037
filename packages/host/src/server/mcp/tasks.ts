import type { ApprovalRow, RunRow } from "@holdfast/engine";
import { describeError, describeRetry } from "@holdfast/client";
import { runId, type RunState } from "@holdfast/protocol";
import {
  CLIENT_CAPABILITIES_META_KEY,
  type CallToolResult,
  type McpServer,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { ApiDeps } from "../api/deps.ts";
import type { ApprovalAnswers } from "./answer-approvals.ts";
import type { McpCaller } from "./caller.ts";
import {
  isApprovalOf,
  isQuestion,
  readRunReport,
  runResult,
  type RunReport,
  shownCall,
} from "./run-report.ts";

/** A run is a task: its id is the task's id, so any host can answer for it at any time. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

const pollIntervalMs = 1_000;

const capabilities = z.looseObject({
  extensions: z.record(z.string(), z.unknown()).optional(),
  elicitation: z
    .looseObject({ form: z.unknown().optional(), url: z.unknown().optional() })
    .optional(),
});
type Capabilities = z.infer<typeof capabilities>;
const envelope = z.looseObject({ [CLIENT_CAPABILITIES_META_KEY]: capabilities });

/** What the client says it can do, in this very request. */
function clientCapabilities({ mcpReq }: ServerContext): Capabilities {
  return envelope.safeParse(mcpReq.envelope).data?.[CLIENT_CAPABILITIES_META_KEY] ?? {};
}

export function declaresTasks(ctx: ServerContext): boolean {
  return clientCapabilities(ctx).extensions?.[tasksExtension] !== undefined;
}

/** The answer to a call whose run is durable and goes on by itself. */
export function taskCreated(run: RunRow): CallToolResult {
  // The SDK knows results of its own methods only, and passes this one through.
  return { resultType: "task", content: [], ...taskOf(run, "working") };
}

type TaskStatus = "working" | "input_required" | "completed" | "cancelled";

function taskOf(run: RunRow, status: TaskStatus, statusMessage?: string) {
  const { id, createdAt, startedAt, endedAt, restsSince } = run;
  const lastUpdatedAt = endedAt ?? restsSince ?? startedAt ?? createdAt;
  return {
    taskId: id,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(lastUpdatedAt).toISOString(),
    // A run is kept as long as its session.
    ttlMs: null,
    pollIntervalMs,
  };
}

const taskParams = z.looseObject({ taskId: z.string() });

export interface TaskDeps extends Pick<ApiDeps, "engine" | "log"> {
  readonly answers: ApprovalAnswers;
}

export function registerTasks(server: McpServer, deps: TaskDeps, caller: McpCaller): void {
  async function readTask(taskId: string, ctx: ServerContext): Promise<RunReport> {
    if (!declaresTasks(ctx))
      throw new MissingRequiredClientCapabilityError({
        requiredCapabilities: { extensions: { [tasksExtension]: {} } },
      });
    const id = runId.safeParse(taskId);
    const report = id.success ? await readRunReport(deps, caller.owner, id.data) : null;
    if (report === null)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        "There is no such task. Its id is the one that session_send answered with.",
        { code: "run_not_found" },
      );
    return report;
  }

  server.server.setRequestHandler("tasks/get", { params: taskParams }, async ({ taskId }, ctx) => {
    return describeTask(await readTask(taskId, ctx), ctx);
  });

  server.server.setRequestHandler(
    "tasks/cancel",
    { params: taskParams },
    async ({ taskId }, ctx) => {
      const { run } = await readTask(taskId, ctx);
      const cancelled = await caller.client.cancelRun({ params: { id: run.id } });
      if (cancelled.ok) return {};
      throw new ProtocolError(
        ProtocolErrorCode.InternalError,
        "The task could not be asked to stop. Repeat the request.",
        { code: cancelled.error.code },
      );
    },
  );

  server.server.setRequestHandler(
    "tasks/update",
    { params: taskParams },
    async ({ taskId }, ctx) => {
      const report = await readTask(taskId, ctx);
      const given = Object.entries(ctx.mcpReq.inputResponses ?? {}).flatMap(([id, response]) => {
        // Keys that are not open, or no longer, are ignored: somebody else may have answered.
        const approval = isApprovalOf(report, id);
        const answer = approval && answerIn(approval, response);
        return approval !== undefined && answer !== undefined ? [{ approval, answer }] : [];
      });
      for (const { approval } of given) {
        const refusal = await deps.answers.refusal(caller, approval);
        if (refusal !== null)
          throw new ProtocolError(ProtocolErrorCode.InvalidParams, refusal.sentence, {
            code: refusal.code,
          });
      }
      for (const { approval, answer } of given) {
        const answered = await deps.answers.answer(caller, approval.id, answer);
        if (answered.ok || answered.error.code === "approval_answered") continue;
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, describeError(answered.error), {
          code: answered.error.code,
        });
      }
      return {};
    },
  );

  async function describeTask(report: RunReport, ctx: ServerContext) {
    const { run } = report;
    switch (taskStates[run.state]) {
      case "cancelled":
        return taskOf(run, "cancelled", run.cause ?? undefined);
      case "ended":
        return {
          ...taskOf(run, "completed"),
          result: { resultType: "complete", ...runResult(report, caller) },
        };
      case "going":
        return describeRunning(report, clientCapabilities(ctx));
    }
  }

  async function describeRunning(report: RunReport, client: Capabilities) {
    const { run, approvals } = report;
    if (approvals.length === 0)
      return taskOf(run, "working", describeRetry(run) ?? run.cause ?? run.state);
    const inputRequests: Record<string, unknown> = {};
    for (const approval of approvals) {
      const request = await inputRequest(approval, client);
      if (request !== undefined) inputRequests[approval.id] = request;
    }
    const waits = `Waits for a person: ${approvals.map(shownCall).join("; ")}`;
    // Only what this client can be asked: the others are answered elsewhere, and the task goes on then.
    if (Object.keys(inputRequests).length === 0) return taskOf(run, "working", waits);
    return { ...taskOf(run, "input_required", waits), inputRequests };
  }

  /** A form if the client may answer, else the page where a person does. */
  async function inputRequest(approval: ApprovalRow, { elicitation }: Capabilities) {
    if (elicitation === undefined) return undefined;
    const takesForms = elicitation.form !== undefined || elicitation.url === undefined;
    const refusal = await deps.answers.refusal(caller, approval);
    if (refusal === null && takesForms)
      return {
        method: "elicitation/create",
        params: isQuestion(approval) ? questionForm(approval) : approvalForm(approval),
      };
    if (elicitation.url === undefined) return undefined;
    return {
      method: "elicitation/create",
      params: {
        mode: "url",
        elicitationId: approval.id,
        url: `${caller.pageAddress}?session=${approval.session}`,
        message: `Answer it on Holdfast's page: ${shownCall(approval)}`,
      },
    };
  }
}

const taskStates: Readonly<Record<RunState, "going" | "ended" | "cancelled">> = {
  queued: "going",
  claimed: "going",
  running: "going",
  waiting: "going",
  paused: "going",
  // A run that failed is a result with an error; `failed` is for errors of the protocol.
  completed: "ended",
  failed: "ended",
  interrupted: "ended",
  limit: "ended",
  cancelled: "cancelled",
};

function approvalForm(approval: ApprovalRow) {
  return {
    mode: "form",
    message: `Holdfast asks whether it may do this:\n${shownCall(approval)}`,
    requestedSchema: {
      type: "object",
      properties: {
        decision: {
          type: "string",
          title: "Decision",
          oneOf: [
            { const: "once", title: "Allow it this once" },
            { const: "deny", title: "Deny it" },
          ],
        },
      },
      required: ["decision"],
    },
  };
}

function questionForm(approval: ApprovalRow) {
  return {
    mode: "form",
    message: shownCall(approval),
    requestedSchema: {
      type: "object",
      properties: { answer: { type: "string", title: "Answer", minLength: 1, maxLength: 10_000 } },
      required: ["answer"],
    },
  };
}

const response = z.discriminatedUnion("action", [
  z.looseObject({
    action: z.literal("accept"),
    content: z
      .looseObject({ decision: z.string().optional(), answer: z.string().optional() })
      .optional(),
  }),
  z.looseObject({ action: z.literal("decline") }),
  z.looseObject({ action: z.literal("cancel") }),
]);

/** Only an explicit yes is one; `cancel` leaves it open. */
function answerIn(approval: ApprovalRow, given: unknown) {
  const parsed = response.safeParse(given);
  if (!parsed.success || parsed.data.action === "cancel") return undefined;
  if (parsed.data.action === "decline") return { decision: "deny" } as const;
  const { content } = parsed.data;
  if (isQuestion(approval))
    return content?.answer === undefined
      ? undefined
      : ({ decision: "once", answer: content.answer } as const);
  if (content?.decision === "once" || content?.decision === "deny")
    return { decision: content.decision } as const;
  return undefined;
}
