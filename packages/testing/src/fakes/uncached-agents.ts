import { type NamedModel, type RunnerDeps, shortHash, type Tool } from "@holdfast/engine";

export interface AgentSource {
  readonly modelFor: () => Promise<NamedModel & { readonly fallbacks?: readonly NamedModel[] }>;
  readonly system: () => Promise<string>;
  /** By default the signature of the system prompt. */
  readonly signature?: () => Promise<string>;
  readonly tools: ReadonlyMap<string, Tool>;
}

/** Builds an agent for every run and keeps none, so that each run reads its context from the store. */
export function uncachedAgents({
  modelFor,
  system,
  signature,
  tools,
}: AgentSource): RunnerDeps["agents"] {
  return {
    async borrow() {
      const { name, model, fallbacks = [] } = await modelFor();
      const agent = { modelName: name, model, fallbacks, system, tools };
      return {
        agent: { ...agent, bytes: 0, close: async () => {} },
        cached: undefined,
        signature: signature ? await signature() : `agent=${shortHash(await system())}`,
        release() {},
      };
    },
    evictIfNeeded() {},
    close: async () => {},
  };
}
