import type { Engine, Log, Reads } from "@holdfast/engine";
import type { IdSource } from "@holdfast/protocol";
import type { ModelRegistry } from "../../agent/models/registry.ts";
import type { ApiRouteDeps } from "../api/routes.ts";
import type { EventStreamDeps } from "../http/event-stream.ts";
import type { Protocol } from "../http/protocol.ts";
import type { AdmitDeps } from "./admit-turn.ts";
import { chatRoutes } from "./chat-completions.ts";
import { conversationRoutes } from "./conversations.ts";
import { encodeOpenAiProblem } from "./errors.ts";
import { modelRoutes } from "./models.ts";
import { responseRoutes } from "./responses.ts";
import { openSessionHints } from "./session-hints.ts";

export interface OpenAiDeps extends EventStreamDeps, AdmitDeps {
  readonly engine: Pick<Engine, "follow" | "notify">;
  readonly log: Log;
  readonly reads: Reads;
  readonly models: ModelRegistry;
  readonly ids: IdSource;
  readonly holder: ApiRouteDeps["holder"];
}

/** OpenAI's API for its clients: the same sessions, runs and approvals, in another form. */
export function openAiProtocol(api: ApiRouteDeps): Protocol {
  const { log } = api;
  const deps: OpenAiDeps = {
    ...api,
    reads: log.store.reads,
    hints: openSessionHints(log.store.register),
    now: () => log.store.now(),
  };
  const conversations = conversationRoutes(deps);
  return {
    name: "openai",
    prefix: "/v1",
    routes: [
      ...modelRoutes(deps),
      ...chatRoutes(deps),
      ...responseRoutes(deps, conversations.pending),
      ...conversations.routes,
    ],
    encodeProblem: encodeOpenAiProblem,
  };
}
