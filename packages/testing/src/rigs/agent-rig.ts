import { type Agent, type AgentRequest, AgentCache, type AgentCacheDeps } from "@holdfast/engine";
import { manualClock } from "../fakes/manual-clock.ts";

export interface TestAgent extends Agent {
  /** How often it was closed. */
  closed: number;
}

export function createTestAgent(bytes = 100): TestAgent {
  return {
    modelName: "scripted",
    model: { stream: async function* () {} },
    system: async () => "You are being tested.",
    tools: new Map(),
    bytes,
    closed: 0,
    async close() {
      this.closed += 1;
    },
  };
}

/** A cache with a factory that records what it made. */
export function openAgentCache(rest: Partial<AgentCacheDeps<string>> = {}) {
  const made: TestAgent[] = [];
  const clock = manualClock();
  const factory = {
    signature: async (_request: AgentRequest) => "same",
    build: async (_request: AgentRequest): Promise<Agent> => {
      const agent = createTestAgent();
      made.push(agent);
      return agent;
    },
  };
  const cache = new AgentCache<string>({
    factory,
    clock,
    limits: { bytes: 10_000, count: 10, idleMs: 1_000, baselines: 8 },
    beforeClose: async () => {},
    memory: () => "enough",
    sizeOf: (kept) => kept.length,
    closeBudgetMs: 10_000,
    onError: (error) => {
      throw error;
    },
    ...rest,
  });
  return { cache, made, factory, clock };
}
