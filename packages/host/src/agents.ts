import {
  AgentCache,
  type Clock,
  type KnownContext,
  type Store,
  type Tool,
  type WarmAgents,
} from "@holdfast/engine";

import type { OwnerId, SessionId } from "@holdfast/protocol";

import type { NamedModel } from "./open-model.ts";

export interface AgentParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly model: NamedModel;
  readonly tools: ReadonlyMap<string, Tool>;
  /** What a session of this owner begins with beside the persona. It is frozen with the session. */
  readonly notes: (owner: OwnerId) => Promise<string>;
  /** An agent's sessions are let go of: their memory is committed. */
  readonly letGo: (session: SessionId) => Promise<void>;
  readonly report: (error: unknown) => void;
}

const persona = "You are a helpful assistant.";
const megabyte = 1024 * 1024;
const limits = { bytes: 256 * megabyte, count: 200, idleMs: 30 * 60_000, baselines: 32 };
/** What a client and its tools take up, about. */
const agentBytes = 64 * 1024;
const closeBudgetMs = 10_000;
const scarceAt = 0.85;

/** The agents of this process, kept warm by lane. */
export function openAgents(parts: AgentParts): WarmAgents {
  const { store, clock, model, tools, notes, letGo, report } = parts;
  return new AgentCache<KnownContext>({
    factory: {
      signature: async ({ owner }) => JSON.stringify([model.name, persona, owner]),
      build: async ({ owner }) => ({
        modelName: model.name,
        model: model.model,
        system: async () =>
          [persona, await notes(owner)].filter((part) => part !== "").join("\n\n"),
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
