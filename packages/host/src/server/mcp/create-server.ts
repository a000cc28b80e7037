import { McpServer } from "@modelcontextprotocol/server";
import { version } from "../../util/version.ts";
import type { ApiDeps } from "../api/deps.ts";
import { registerApprovalTools } from "./approval-tools.ts";
import type { ApprovalAnswers } from "./answer-approvals.ts";
import type { McpCaller } from "./caller.ts";
import { registerScheduleTools } from "./schedule-tools.ts";
import { registerSendTools } from "./send-tools.ts";
import { registerSessionResources } from "./session-resources.ts";
import { registerSessionTools } from "./session-tools.ts";
import { registerTasks, tasksExtension } from "./tasks.ts";

export interface McpServerDeps extends Pick<
  ApiDeps,
  "log" | "engine" | "clock" | "ids" | "stopping"
> {
  readonly answers: ApprovalAnswers;
}

const instructions =
  "Holdfast is a durable agent host. session_send gives the agent a message; its run survives restarts, so poll it (as a task, or with run_read) instead of sending again.";

/** The tools and resources for one caller, for one request: nothing is kept between requests. */
export function createMcpServer(
  deps: McpServerDeps,
  caller: McpCaller,
  era: "legacy" | "modern",
): McpServer {
  const server = new McpServer(
    { name: "holdfast", title: "Holdfast", version },
    {
      instructions,
      capabilities: {
        tools: { listChanged: false },
        ...(era === "modern" && { extensions: { [tasksExtension]: {} } }),
      },
    },
  );
  registerSessionTools(server, caller);
  registerSendTools(server, deps, caller);
  registerApprovalTools(server, deps, caller);
  if (caller.principal.by !== "api-key") registerScheduleTools(server, caller);
  registerSessionResources(server, caller);
  // The extension belongs to the newer generation; clients of the older one wait, and then read the run.
  if (era === "modern") registerTasks(server, deps, caller);
  return server;
}
