import type { Route } from "../http/route.ts";
import { accessRoutes } from "./access.ts";
import { createIdempotency } from "./idempotency.ts";
import { approvalRoutes } from "./approvals.ts";
import { blobRoutes } from "./transfer.ts";
import { apiDocsRoutes } from "./contract-routes.ts";
import { contextRoutes } from "./context.ts";
import { eventRoutes } from "./events.ts";
import { fsckRoutes } from "./fsck.ts";
import { gatewayRoutes } from "./gateway.ts";
import { historyRoutes } from "./history.ts";
import { usageRoutes } from "./ops.ts";
import { mcpRoutes } from "./mcp.ts";
import { metricsRoutes } from "./metrics.ts";
import { messageRoutes } from "./messages.ts";
import { modelRoutes } from "./models.ts";
import type { ApiDeps } from "./deps.ts";
import { processRoutes } from "./processes.ts";
import { ruleRoutes } from "./rules.ts";
import { runRoutes } from "./runs.ts";
import { scheduleRoutes } from "./automation.ts";
import { searchRoutes } from "./search.ts";
import { sessionRoutes } from "./api-sessions.ts";
import { transferRoutes } from "./api-transfer.ts";
import { webhookRoutes } from "./webhooks.ts";
import { workspaceRoutes } from "./workspace.ts";

export type { BotAdmin, ConnectResult, GatewayAdmin } from "./gateway.ts";
export type { WebhookAdmin } from "./webhooks.ts";
export { deterministicIds } from "../../util/deterministic-ids.ts";

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
