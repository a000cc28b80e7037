import {
  AgentCache,
  type Clock,
  type KnownContext,
  shortHash,
  type Store,
  type Tool,
  type WarmAgents,
} from "@holdfast/engine";

import type { SessionId } from "@holdfast/protocol";

import type { NamedModel } from "./open-model.ts";
import type { SystemPrompt } from "./prompt/index.ts";

export interface AgentParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly model: NamedModel;
  readonly tools: ReadonlyMap<string, Tool>;
  /** How a session begins. It is frozen with the session. */
  readonly prompt: Pick<SystemPrompt, "signature" | "text">;
  /** An agent's sessions are let go of: their memory is committed. */
  readonly letGo: (session: SessionId) => Promise<void>;
  readonly report: (error: unknown) => void;
}

const megabyte = 1024 * 1024;
const limits = { bytes: 256 * megabyte, count: 200, idleMs: 30 * 60_000, baselines: 32 };
/** What a client and its tools take up, about. */
const agentBytes = 64 * 1024;
const closeBudgetMs = 10_000;
const scarceAt = 0.85;

/** The agents of this process, kept warm by lane. */
export function openAgents(parts: AgentParts): WarmAgents {
  const { store, clock, model, tools, prompt, letGo, report } = parts;
  return new AgentCache<KnownContext>({
    factory: {
      signature: async (request) =>
        [
          `model=${shortHash(model.name)}`,
          `owner=${shortHash(request.owner)}`,
          await prompt.signature(request),
        ].join(" "),
      build: async (request) => ({
        modelName: model.name,
        model: model.model,
        system: () => prompt.text(request),
        tools,
        bytes: agentBytes,
        close: async () => {},
      }),
    },
    readVersion: async (owner, session) =>
      (await store.reads.session(owner, session))?.version ?? null,
    clock,
    limits,
    beforeClose: async (_agent, sessions) => {
      await Promise.all(sessions.map(letGo));
    },
    memory: howMuchMemory,
    sizeOf,
    closeBudgetMs,
    onError: report,
  });
}

function howMuchMemory(): "enough" | "scarce" {
  const { rss } = process.memoryUsage();
  const most = process.constrainedMemory();
  return most > 0 && rss > most * scarceAt ? "scarce" : "enough";
}

/** The texts are kept for their hashes, and once more in the entries. */
function sizeOf({ hashes }: KnownContext): number {
  let characters = 0;
  for (const text of hashes.keys()) characters += text.length;
  return characters * 4;
}
