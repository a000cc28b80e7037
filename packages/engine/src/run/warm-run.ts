import { laneKey } from "@holdfast/protocol";

import type { AgentCache, BorrowedAgent } from "../agents/cache.ts";
import { emptyContext, type KnownContext } from "./run-context.ts";
import type { RunHandle } from "./run-handle.ts";
import type { SetUpDeps } from "./prepare-step.ts";

export type WarmAgents = AgentCache<KnownContext>;

/** What a run works with: an agent of its lane, and what that agent knows of the run's session. */
export interface WarmRun {
  readonly setUp: SetUpDeps;
  readonly known: KnownContext;
  /** Gives the agent back. What it knows of the session holds only if the run has come to its own end. */
  release(): void;
}

export async function warmUp(agents: WarmAgents, run: RunHandle): Promise<WarmRun> {
  const { owner, session, versionBefore: version } = run;
  const lane = run.lane ?? laneKey.parse(`session:${session}`);
  try {
    return inHands(await agents.borrow({ owner, session, lane, version }), run);
  } catch (error) {
    return notBuilt(error);
  }
}

function inHands(borrowed: BorrowedAgent<KnownContext>, run: RunHandle): WarmRun {
  const { agent, signature } = borrowed;
  const known = borrowed.kept ?? emptyContext();
  return {
    setUp: {
      modelFor: async () => ({
        name: agent.modelName,
        model: agent.model,
        ...(agent.fallbacks && { fallbacks: agent.fallbacks }),
      }),
      system: agent.system,
      signature: async () => signature,
      tools: agent.tools,
    },
    known,
    release() {
      const { version } = run;
      borrowed.release(run.lost === "ended" ? { version, kept: known } : undefined);
    },
  };
}

/** The run fails with what kept its agent from being built, as with any model that cannot be opened. */
function notBuilt(error: unknown): WarmRun {
  const reject = async (): Promise<never> => {
    throw error instanceof Error ? error : new Error(String(error));
  };
  return {
    setUp: { modelFor: reject, system: reject, tools: new Map() },
    known: emptyContext(),
    release() {},
  };
}
