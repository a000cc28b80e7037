import type {
  Clock,
  Holder,
  JournalPlace,
  Log,
  MemoryKeeper,
  Reviews,
  Runner,
} from "@holdfast/engine";

import type { Doorkeeper } from "../auth/doorkeeper.ts";
import type { Passwords } from "../auth/password.ts";
import type { Compactor } from "../../agent/src-compaction.ts";
import type { Mcp } from "../../agent/mcp/index.ts";
import type { Redact } from "../../ops/secrets/redact.ts";
import type { SystemPrompt } from "../../agent/index.ts";
import type { Models } from "../../agent/models/registry.ts";
import type { Secrets } from "../../ops/secrets/secrets.ts";
import type { Hands } from "../../agent/hands.ts";
import type { ProcessDesk } from "../../automation/processes/process-manager.ts";
import type { Metrics } from "../../ops/telemetry/telemetry-metrics.ts";
import type { StoringBoard } from "../../ops/health/store-health.ts";
import type { MountParts } from "./contract.ts";
import type { BotDesk } from "./gateway.ts";
import type { WebhookDesk } from "./webhooks.ts";

/** What the handlers work with. */
export interface ApiParts extends MountParts {
  readonly log: Log;
  readonly hands: Pick<Hands, "workspaces" | "policy" | "rules">;
  readonly runner: Pick<Runner, "poke" | "recoverLate">;
  readonly storing: Pick<StoringBoard, "watch">;
  readonly compactor: Pick<Compactor, "compactNow" | "windowOf" | "count">;
  readonly memory: Pick<MemoryKeeper, "boundary">;
  readonly reviews: Pick<Reviews, "cancel">;
  readonly models: Models;
  readonly secrets: Pick<Secrets, "read" | "put" | "remove">;
  readonly doorkeeper: Doorkeeper;
  readonly passwords?: Passwords;
  /** For what leaves the host as a document. */
  readonly redact: Redact;
  readonly metrics: Metrics;
  /** Under which path the API stands. */
  readonly basePath?: string;
  /** Where backups lie; without it there are none. */
  readonly home?: string;
  readonly prompt: Pick<SystemPrompt, "workspace" | "decide">;
  /** Where runs of this home spill, for those who want to know what lies there. */
  readonly journals?: Pick<JournalPlace, "left">;
  /** Without it there are no servers. */
  readonly mcp?: Pick<Mcp, "states" | "restart" | "keysOf">;
  /** Without it nothing runs in the background. */
  readonly processes?: Pick<ProcessDesk, "kept" | "stop">;
  /** Absent where there can be no bot. */
  readonly bot?: BotDesk;
  /** Absent where there can be none. */
  readonly webhooks?: WebhookDesk;
  readonly clock: Clock;
  /** Who we are where a lease is taken. */
  readonly holder: () => Holder;
  /** Aborted when the runner has stopped: there is nothing more to follow. */
  readonly closing: AbortSignal;
}
