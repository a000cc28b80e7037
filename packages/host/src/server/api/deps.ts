import type {
  Clock,
  Holder,
  SpillStore,
  Log,
  MemoryCommitter,
  ConversationReviewer,
  Runner,
} from "@holdfast/engine";

import type { Authenticator } from "../auth/authenticator.ts";
import type { PasswordFile } from "../auth/password.ts";
import type { Compactor } from "../../agent/compaction.ts";
import type { Mcp } from "../../agent/mcp/mcp.ts";
import type { Redact } from "../../ops/secrets/redact.ts";
import type { SystemPrompt } from "../../agent/system-prompt.ts";
import type { ModelRegistry } from "../../agent/models/registry.ts";
import type { Secrets } from "../../ops/secrets/secrets.ts";
import type { Toolset } from "../../agent/toolset.ts";
import type { ProcessManager } from "../../automation/processes/process-manager.ts";
import type { Metrics } from "../../ops/telemetry/metrics.ts";
import type { StorageStatus } from "../../ops/health/store-health.ts";
import type { MountDeps } from "./endpoint.ts";
import type { BotAdmin, WebhookAdmin } from "./gateway.ts";

/** What the handlers work with. */
export interface ApiDeps extends MountDeps {
  readonly log: Log;
  readonly toolset: Pick<Toolset, "workspaces" | "policy" | "rules">;
  readonly runner: Pick<Runner, "notify" | "recoverLateJournals">;
  readonly storageStatus: Pick<StorageStatus, "subscribe">;
  readonly compactor: Pick<Compactor, "compactNow" | "windowOf" | "count">;
  readonly memory: Pick<MemoryCommitter, "boundary">;
  readonly reviews: Pick<ConversationReviewer, "cancel">;
  readonly models: ModelRegistry;
  readonly secrets: Pick<Secrets, "read" | "put" | "remove">;
  readonly authenticator: Authenticator;
  readonly passwords?: PasswordFile;
  /** For what leaves the host as a document. */
  readonly redact: Redact;
  readonly metrics: Metrics;
  /** Under which path the API stands. */
  readonly basePath?: string;
  /** Where backups lie; without it there are none. */
  readonly home?: string;
  readonly prompt: Pick<SystemPrompt, "workspace" | "decide">;
  /** Where runs of this home spill, for those who want to know what lies there. */
  readonly journals?: Pick<SpillStore, "left">;
  /** Without it there are no servers. */
  readonly mcp?: Pick<Mcp, "states" | "restart" | "keysOf">;
  /** Without it nothing runs in the background. */
  readonly processes?: Pick<ProcessManager, "store" | "stop">;
  /** Absent where there can be no bot. */
  readonly bot?: BotAdmin;
  /** Absent where there can be none. */
  readonly webhooks?: WebhookAdmin;
  readonly clock: Clock;
  /** Who we are where a lease is taken. */
  readonly holder: () => Holder;
  /** Aborted when the runner has stopped: there is nothing more to follow. */
  readonly closing: AbortSignal;
}
