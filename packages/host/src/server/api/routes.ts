import type { Route } from "../http/routing.ts";
import { accessRoutes } from "./access.ts";
import { createIdempotency } from "./idempotency.ts";
import { approvalRoutes, ruleRoutes } from "./approvals.ts";
import { backupRoutes, blobRoutes, transferRoutes } from "./transfer.ts";
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
import { rightsRoutes } from "../../rights/rights-routes.ts";
import { searchRoutes } from "./session-list.ts";
import { spendingRoutes } from "../../ops/spending/spending-routes.ts";
import { sessionRoutes, trashRoutes } from "./sessions.ts";
import { importRoutes } from "../../ops/import/routes/import-routes.ts";
import { settingRoutes } from "../../ops/page-settings/setting-routes.ts";
import { fileUndoRoutes } from "../../agent/snapshots/file-undo-routes.ts";
import { folderRoutes, workspaceRoutes } from "../../agent/workspace/workspace-routes.ts";
import { guidanceRoutes } from "../../agent/instructions/guidance-routes.ts";
import { instructionsRoutes } from "../../agent/instructions/instructions-routes.ts";
import { personaRoutes } from "../../agent/instructions/persona-routes.ts";
import { projectFileRoutes } from "../../agent/instructions/project-file-routes.ts";
import { projectRoutes } from "../../agent/instructions/project-routes.ts";
import { worktreeRoutes } from "../../agent/worktrees/worktree-routes.ts";
import { profileRoutes } from "../../agent/profiles/profile-routes.ts";
import { skillRoutes } from "../../agent/skills/skill-routes.ts";
import { memoryFactRoutes } from "../../agent/memory/memory-routes.ts";
import { webSearchRoutes } from "../../agent/search/search-routes.ts";
import { workspaceFileRoutes } from "../../agent/workspace/file-routes.ts";

export type ApiRouteDeps = Omit<ApiDeps, "runIdempotent">;

/** The part of the contract that this version serves. */
export function apiRoutes(options: ApiRouteDeps): Route[] {
  const deps: ApiDeps = { ...options, runIdempotent: createIdempotency(options.log.store) };
  return [
    ...sessionRoutes(deps),
    ...messageRoutes(deps),
    ...historyRoutes(deps),
    ...contextRoutes(deps),
    ...workspaceRoutes(deps),
    ...folderRoutes(deps),
    ...workspaceFileRoutes(deps),
    ...fileUndoRoutes(deps),
    ...runRoutes(deps),
    ...approvalRoutes(deps),
    ...ruleRoutes(deps),
    ...blobRoutes(deps),
    ...searchRoutes(deps),
    ...usageRoutes(deps),
    ...spendingRoutes(deps),
    ...eventRoutes(deps),
    ...accessRoutes(deps),
    ...transferRoutes(deps),
    ...backupRoutes(deps),
    ...importRoutes(deps),
    ...fsckRoutes(deps),
    ...mcpRoutes(deps),
    ...apiDocsRoutes(deps),
    ...metricsRoutes(deps),
    ...modelRoutes(deps),
    ...gatewayRoutes(deps),
    ...webhookRoutes(deps),
    ...scheduleRoutes(deps),
    ...processRoutes(deps),
    ...rightsRoutes(deps),
    ...memoryFactRoutes(deps),
    ...instructionsRoutes(deps),
    ...guidanceRoutes(deps),
    ...personaRoutes(deps),
    ...projectRoutes(deps),
    ...projectFileRoutes(deps),
    ...skillRoutes(deps),
    ...profileRoutes(deps),
    ...worktreeRoutes(deps),
    ...settingRoutes(deps),
    ...webSearchRoutes(deps),
    ...trashRoutes(deps),
  ];
}
