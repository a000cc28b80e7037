import type { LaneKey, OwnerId, SessionId } from "@holdfast/protocol";

import type { Model, NamedModel } from "./model.ts";
import type { Tool } from "./tool.ts";

/**
 * What is expensive to build and the same from turn to turn: the provider's client, what the system prompt is made
 * from, and the tools in their exact bytes. It knows no session: what a run writes to is passed with the run.
 */
export interface Agent {
  readonly modelName: string;
  readonly model: Model;
  /** Who answers when that one cannot, in this order. */
  readonly fallbacks?: readonly NamedModel[];
  /** The system prompt as it would be today: what a session begins with, and keeps while the signature is the same. */
  readonly system: () => Promise<string>;
  readonly tools: ReadonlyMap<string, Tool>;
  /** About how much memory it takes up. */
  readonly bytes: number;
  /** Called once, when nobody uses it any more. */
  close(): Promise<void>;
}

export interface AgentRequest {
  readonly owner: OwnerId;
  readonly lane: LaneKey;
  readonly session: SessionId;
  /** The session's version before the borrower's own first write, if it knows; else it is read. */
  readonly version?: number;
}

export interface AgentFactory {
  /** Names everything that an agent for this request is made from: the same signature, the same agent. */
  signature(request: AgentRequest): Promise<string>;
  /** Under the signature that was given before. May reject: the run that asked for it fails with that error. */
  build(request: AgentRequest, signature: string): Promise<Agent>;
}
