import type { Route } from "../http/route.ts";
import { accessRoutes } from "./access.ts";
import { createAnswerOnce } from "./idempotency.ts";
import { approvalRoutes } from "./approvals.ts";
import { blobRoutes } from "./transfer.ts";
import { contractRoutes } from "./contract-routes.ts";
import { contextRoutes } from "./context.ts";
import { eventRoutes } from "./events.ts";
import { fsckRoutes } from "./fsck.ts";
import { gatewayRoutes } from "./gateway.ts";
import { historyRoutes } from "./history.ts";
import { ledgerRoutes } from "./ops.ts";
import { mcpRoutes } from "./mcp.ts";
import { metricsRoutes } from "./metrics.ts";
import { messageRoutes } from "./messages.ts";
import { modelRoutes } from "./models.ts";
import type { ApiParts } from "./deps.ts";
import { processRoutes } from "./processes.ts";
import { ruleRoutes } from "./rules.ts";
import { runRoutes } from "./runs.ts";
import { scheduleRoutes } from "./automation.ts";
import { searchRoutes } from "./search.ts";
import { sessionRoutes } from "./api-sessions.ts";
import { transferRoutes } from "./api-transfer.ts";
import { webhookRoutes } from "./webhooks.ts";
import { workspaceRoutes } from "./workspace.ts";

export type { BotDesk, Connected, GatewayDesk } from "./gateway.ts";
export type { WebhookDesk } from "./webhooks.ts";
export { idsFrom } from "../../util/deterministic-ids.ts";

export type ApiOptions = Omit<ApiParts, "answerOnce">;

/** The part of the contract that this version serves. What is not here is, from outside, not there. */
export function apiRoutes(options: ApiOptions): Route[] {
  const parts: ApiParts = { ...options, answerOnce: createAnswerOnce(options.log.store) };
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
    ...ledgerRoutes(parts),
    ...eventRoutes(parts),
    ...accessRoutes(parts),
    ...transferRoutes(parts),
    ...fsckRoutes(parts),
    ...mcpRoutes(parts),
    ...contractRoutes(parts),
    ...metricsRoutes(parts),
    ...modelRoutes(parts),
    ...gatewayRoutes(parts),
    ...webhookRoutes(parts),
    ...scheduleRoutes(parts),
    ...processRoutes(parts),
  ];
}
