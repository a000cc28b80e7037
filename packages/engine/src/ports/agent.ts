import type { LaneKey, OwnerId, SessionId } from "@holdfast/protocol";

import type { Model, NamedModel } from "./model.ts";
import type { Tool } from "./tool.ts";

/**
 * What is expensive to build and the same from turn to turn: the provider's client, the inputs of the system prompt,
 * and the tools byte for byte. It knows no session: a run passes in what it writes to.
 */
export interface Agent {
  readonly modelName: string;
  readonly model: Model;
  /** The models to fall back to, in order. */
  readonly fallbacks?: readonly NamedModel[];
  /** The system prompt as of now: a session starts with it and keeps it while the signature stays the same. */
  readonly system: () => Promise<string>;
  readonly tools: ReadonlyMap<string, Tool>;
  /** Roughly how much memory it takes. */
  readonly bytes: number;
  /** Called once, when nobody uses it any more. */
  close(): Promise<void>;
}

export interface AgentRequest {
  readonly owner: OwnerId;
  readonly lane: LaneKey;
  readonly session: SessionId;
  /** The session's version before the borrower's own first write, if known; otherwise it is read. */
  readonly version?: number;
}

export interface AgentFactory {
  /** Identifies everything an agent for this request is built from: the same signature means the same agent. */
  signature(request: AgentRequest): Promise<string>;
  /** With a signature obtained before. May reject: the run that asked for it fails with that error. */
  build(request: AgentRequest, signature: string): Promise<Agent>;
}
