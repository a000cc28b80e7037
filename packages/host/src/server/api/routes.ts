import type { Route } from "../http/routing.ts";
import { accessRoutes } from "./access.ts";
import { createIdempotency } from "./idempotency.ts";
import { approvalRoutes, ruleRoutes } from "./approvals.ts";
import { blobRoutes, transferRoutes } from "./transfer.ts";
import { apiDocsRoutes } from "./api-docs.ts";
import { contextRoutes } from "./context.ts";
import { eventRoutes } from "./events.ts";
import { fsckRoutes, usageRoutes, metricsRoutes } from "./ops.ts";
import { gatewayRoutes, webhookRoutes } from "./gateway.ts";
import { historyRoutes } from "./history.ts";
import { mcpRoutes } from "./mcp.ts";
import { messageRoutes, runRoutes } from "./messages.ts";
import { modelRoutes } from "./models.ts";
import type { ApiDeps } from "./deps.ts";
import { processRoutes, scheduleRoutes } from "./automation.ts";
import { searchRoutes } from "./session-list.ts";
import { sessionRoutes, workspaceRoutes } from "./sessions.ts";

export type ApiRouteDeps = Omit<ApiDeps, "runIdempotent">;

/** The part of the contract that this version serves. What is not here is, from outside, not there. */
export function apiRoutes(options: ApiRouteDeps): Route[] {
  const parts: ApiDeps = { ...options, runIdempotent: createIdempotency(options.log.store) };
  return [
    ...sessionRoutes(parts),
    ...messageRoutes(parts),
    ...historyRoutes(parts),
    ...contextRoutes(parts),
    ...workspaceRoutes(parts),
    ...runRoutes(parts),
    ...approvalRoutes(parts),
    ...ruleRoutes(parts),
    ...blobRoutes(parts),
    ...searchRoutes(parts),
    ...usageRoutes(parts),
    ...eventRoutes(parts),
    ...accessRoutes(parts),
    ...transferRoutes(parts),
    ...fsckRoutes(parts),
    ...mcpRoutes(parts),
    ...apiDocsRoutes(parts),
    ...metricsRoutes(parts),
    ...modelRoutes(parts),
    ...gatewayRoutes(parts),
    ...webhookRoutes(parts),
    ...scheduleRoutes(parts),
    ...processRoutes(parts),
  ];
}
