import { guidanceRoutes } from "./agent/guidance.ts";
import { instructionsRoutes } from "./agent/instructions.ts";
import { personaRoutes } from "./agent/personas.ts";
import { agentRoutes } from "./agent/agents.ts";
import { worktreeRoutes } from "./agent/worktrees.ts";
import { skillRoutes } from "./agent/skills.ts";
import { projectFileRoutes } from "./agent/project-files.ts";
import { projectRoutes } from "./agent/projects.ts";
import { webSearchRoutes } from "./agent/web-search.ts";
import { sessionFileRoutes } from "./agent/session-files.ts";
import { contextRoutes } from "./context.ts";
import { accessRoutes } from "./access.ts";
import { gatewayRoutes } from "./gateway.ts";
import { historyRoutes } from "./history.ts";
import { ledgerRoutes } from "./ledger.ts";
import { mcpRoutes } from "./mcp.ts";
import { memoryRoutes } from "./memory.ts";
import { modelRoutes } from "./models.ts";
import { processRoutes } from "./processes.ts";
import { rightsRoutes } from "./rights.ts";
import { runRoutes } from "./runs.ts";
import { scheduleRoutes } from "./schedules.ts";
import { sessionRoutes, trashRoutes } from "./sessions.ts";
import { settingRoutes, streamRoutes, systemRoutes } from "./system.ts";
import { transferRoutes } from "./transfer.ts";
import { webhookRoutes } from "./webhooks.ts";
import { workspaceRoutes } from "./workspace.ts";

export {
  isWebhookUrl,
  type WebhookMessage,
  type WebhookCommand,
  webhookCommand,
  webhookMessage,
  webhookName,
  webhookSecret,
  type WebhookView,
} from "./webhooks.ts";
export {
  type WebSearchProvider,
  webSearchProviders,
  type WebSearchProviderView,
} from "./agent/web-search.ts";
export {
  type ChangedFileView,
  type FileChangesView,
  type FilesRestored,
  filesRestored,
  type KeptReason,
  type LastingEffect,
} from "./agent/session-files.ts";
export {
  type ImportItemFilter,
  importItemFilters,
  type ImportItemView,
  type ImportKind,
  importKinds,
  importPieceBytes,
  importUploadBytes,
  type ImportSourceInfo,
  importSourceInfo,
  type ImportSourceName,
  importSources,
  type ImportView,
} from "./transfer.ts";
export { type ContextView, contextView } from "./context.ts";
export {
  type AllowedFolder,
  type WorkspaceEntry,
  type WorkspaceView,
  workspaceView,
} from "./workspace.ts";
export { type GatewayView, type OutboxView } from "./gateway.ts";
export {
  isNothingNew,
  nothingNew,
  type ScheduleBody,
  type ScheduleSpendLimit,
  scheduleMinutes,
  scheduleTimes,
  type ScheduleTimes,
  scheduleView,
  type ScheduleView,
} from "./schedules.ts";
export type { ProcessView } from "./processes.ts";
export * from "./views.ts";
export type { SpendLimitView, UsageGroupView, UsageTotalsView } from "./ledger.ts";
export {
  type Answer,
  type Method,
  type Route,
  type RouteInput,
  type RouteOutput,
  problemsOf,
} from "./define.ts";
export type { ModelView, ProviderView } from "./models.ts";
export type { McpServerBody, McpServerView } from "./mcp.ts";
export { commandText, programText } from "./mcp.ts";
export type { SignInView } from "./access.ts";
export {
  factSource,
  type FactSource,
  factUse,
  type FactUse,
  type FactView,
  type WaitingFactView,
} from "./memory.ts";
export {
  type GuidancePart,
  guidanceParts,
  type GuidanceView,
  maxGuidanceCharacters,
} from "./agent/guidance.ts";
export { type InstructionsView, maxInstructionsCharacters } from "./agent/instructions.ts";
export { builtInPersona, maxPersonaCharacters, type PersonaView } from "./agent/personas.ts";
export { maxProjectCharacters, type ProjectView } from "./agent/projects.ts";
export {
  maxProjectFileBytes,
  maxProjectFileCharacters,
  maxProjectFiles,
  type ProjectFileView,
} from "./agent/project-files.ts";
export type { WorktreeView } from "./agent/worktrees.ts";
export type { AgentView, SessionAgentsView } from "./agent/agents.ts";
export type {
  SessionSkillsView,
  SkillView,
  SkippedSkillView,
  StagedSkillView,
} from "./agent/skills.ts";
export type { ProfileView } from "./rights.ts";
export {
  type PageSettingName,
  pageSettingNames,
  type SettingView,
  type ToolView,
} from "./system.ts";
export { idempotencyKey, pageCursor, revisionTag } from "./fields.ts";
export { sessionPatch } from "./sessions.ts";

/** The whole HTTP contract. Names and paths may be added, never renamed. */
export const routes = {
  ...sessionRoutes,
  ...historyRoutes,
  ...contextRoutes,
  ...workspaceRoutes,
  ...sessionFileRoutes,
  ...streamRoutes,
  ...runRoutes,
  ...ledgerRoutes,
  ...systemRoutes,
  ...accessRoutes,
  ...gatewayRoutes,
  ...webhookRoutes,
  ...scheduleRoutes,
  ...processRoutes,
  ...transferRoutes,
  ...modelRoutes,
  ...mcpRoutes,
  ...rightsRoutes,
  ...memoryRoutes,
  ...instructionsRoutes,
  ...guidanceRoutes,
  ...personaRoutes,
  ...projectRoutes,
  ...projectFileRoutes,
  ...skillRoutes,
  ...agentRoutes,
  ...worktreeRoutes,
  ...settingRoutes,
  ...webSearchRoutes,
  ...trashRoutes,
} as const;
export type Routes = typeof routes;
export type RouteName = keyof Routes;
