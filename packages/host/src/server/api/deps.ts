import type {
  Clock,
  Compactor,
  Engine,
  Holder,
  SpillStore,
  Log,
  MemoryCommitter,
  ConversationReviewer,
} from "@holdfast/engine";

import type { SessionMode } from "@holdfast/protocol";
import type { ApiKeys } from "../auth/api-keys.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { Passwords } from "../auth/password.ts";
import type { AddedServers } from "../../agent/mcp/added-servers.ts";
import type { SignIns } from "../../agent/mcp/sign-in/sign-ins.ts";
import type { Mcp } from "../../agent/mcp/mcp.ts";
import type { AuditKey } from "../../ops/audit/audit-key.ts";
import type { Redact } from "../../ops/secrets/redact.ts";
import type { PersonaStore } from "../../agent/instructions/persona-store.ts";
import type { FactStore } from "../../agent/memory/fact-store.ts";
import type { Profiles } from "../../agent/profiles/profiles.ts";
import type { Skills } from "../../agent/skills/skills.ts";
import type { FileUndo } from "../../agent/snapshots/file-undo.ts";
import type { SystemPrompt } from "../../agent/system-prompt.ts";
import type { ModelRegistry } from "../../agent/models/registry.ts";
import type { WebSearch } from "../../agent/search/web-search.ts";
import type { Secrets } from "../../ops/secrets/secrets.ts";
import type { Toolset } from "../../agent/toolset.ts";
import type { WorkspaceHosts } from "../../hosts/workspace-hosts.ts";
import type { ProcessManager } from "../../automation/processes/process-manager.ts";
import type { Metrics } from "../../ops/telemetry/metrics.ts";
import type { PageSettings } from "../../ops/page-settings/page-settings.ts";
import type { SpendLimits } from "../../ops/spending/spend-limits.ts";
import type { StorageStatus } from "../../ops/health/store-health.ts";
import type { MountDeps } from "./endpoint.ts";
import type { BotAdmin, WebhookAdmin } from "./gateway.ts";

export interface ApiDeps extends MountDeps {
  readonly log: Log;
  readonly toolset: Pick<Toolset, "workspaces" | "worktrees" | "pdfs" | "policy" | "rules">;
  readonly engine: Pick<
    Engine,
    "send" | "follow" | "notify" | "recoverLateJournals" | "stopWaiting"
  >;
  readonly spendLimits: SpendLimits;
  readonly storageStatus: Pick<StorageStatus, "subscribe">;
  readonly compactor: Pick<Compactor, "compactNow" | "windowOf" | "count">;
  readonly memory: Pick<MemoryCommitter, "boundary">;
  readonly reviews: Pick<ConversationReviewer, "cancel">;
  readonly models: ModelRegistry;
  /** The mode that new sessions get, where their lane answers approvals. */
  readonly newSessionMode: () => SessionMode;
  /** What can be changed on the page, and the tools that can be switched off. */
  readonly pageSettings: PageSettings;
  readonly listTools: () => Promise<
    readonly { readonly name: string; readonly description: string }[]
  >;
  readonly secrets: Pick<Secrets, "read" | "put" | "remove">;
  readonly webSearch: Pick<WebSearch, "accountOf" | "check" | "keyAddress" | "list">;
  readonly authenticator: Authenticator;
  readonly passwords?: Passwords;
  readonly apiKeys: ApiKeys;
  /** Removes secrets from exported documents. */
  readonly redact: Redact;
  readonly metrics: Metrics;
  /** The path prefix of the API. */
  readonly basePath?: string;
  /** The home folder that backups are written to; without it there are none. */
  readonly home?: string;
  /** Signs audit exports; without a home there are none. */
  readonly auditKey?: () => Promise<AuditKey>;
  /** Undo of the files that turns changed. */
  readonly fileUndo: Pick<
    FileUndo,
    "changes" | "lastRestore" | "restore" | "turnStart" | "versionLeft"
  >;
  readonly prompt: Pick<SystemPrompt, "workspace" | "decide">;
  readonly personas: PersonaStore;
  readonly skills: Skills;
  readonly profiles: Profiles;
  /** What is known about each owner. */
  readonly facts: FactStore;
  /** Where runs of this home spill, for storage reports. */
  readonly journals?: Pick<SpillStore, "left">;
  readonly mcp?: Pick<Mcp, "states" | "state" | "restart" | "keysOf" | "signInUrl">;
  /** MCP servers that people add. */
  readonly addedServers?: AddedServers;
  readonly signIns?: Pick<SignIns, "begin" | "signOut">;
  /** Absent where background processes are disabled. */
  readonly processes?: Pick<ProcessManager, "output" | "stop" | "store">;
  /** Absent where the host cannot run a bot. */
  readonly bot?: BotAdmin;
  /** Absent where the host cannot receive webhooks. */
  readonly webhooks?: WebhookAdmin;
  /** Absent where no other host shares the store. */
  readonly workspaceHosts?: Pick<WorkspaceHosts, "siteOf" | "takeOver"> | undefined;
  readonly clock: Clock;
  /** This process, as the holder of a lease. */
  readonly holder: () => Holder;
  /** Aborted once the runner has stopped and no more events can follow. */
  readonly closing: AbortSignal;
}
