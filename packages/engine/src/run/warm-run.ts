import { laneKey } from "@holdfast/protocol";

import type { AgentCache, BorrowedAgent } from "../agents/cache.ts";
import { emptyCachedContext, type CachedContext } from "./run-context.ts";
import type { RunHandle } from "./run-handle.ts";
import type { StepDeps } from "./prepare-step.ts";

export type RunAgentCache = AgentCache<CachedContext>;

/** What a run works with: an agent of its lane, and what that agent knows of the run's session. */
export interface BorrowedRunAgent {
  readonly stepDeps: StepDeps;
  readonly cachedContext: CachedContext;
  /** Gives the agent back. What it knows of the session holds only if the run has come to its own end. */
  release(): void;
}

export async function borrowAgent(
  agents: RunAgentCache,
  run: RunHandle,
): Promise<BorrowedRunAgent> {
  const { owner, session, versionBefore: version } = run;
  const lane = run.lane ?? laneKey.parse(`session:${session}`);
  try {
    return borrowedRunAgent(await agents.borrow({ owner, session, lane, version }), run);
  } catch (error) {
    return failedRunAgent(error);
  }
}

function borrowedRunAgent(
  borrowed: BorrowedAgent<CachedContext>,
  run: RunHandle,
): BorrowedRunAgent {
  const { agent, signature } = borrowed;
  const known = borrowed.kept ?? emptyCachedContext();
  return {
    stepDeps: {
      modelFor: async () => ({
        name: agent.modelName,
        model: agent.model,
        ...(agent.fallbacks && { fallbacks: agent.fallbacks }),
      }),
      system: agent.system,
      signature: async () => signature,
      tools: agent.tools,
    },
    cachedContext: known,
    release() {
      const { version } = run;
      borrowed.release(run.lost === "ended" ? { version, kept: known } : undefined);
    },
  };
}

/** The run fails with what kept its agent from being built, as with any model that cannot be opened. */
function failedRunAgent(error: unknown): BorrowedRunAgent {
  const reject = async (): Promise<never> => {
    throw error instanceof Error ? error : new Error(String(error));
  };
  return {
    stepDeps: { modelFor: reject, system: reject, tools: new Map() },
    cachedContext: emptyCachedContext(),
    release() {},
  };
}
