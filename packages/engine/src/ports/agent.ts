import type { LaneKey, OwnerId, SessionId } from "@holdfast/protocol";

import type { Model, NamedModel } from "./model.ts";
import type { Tool } from "./tool.ts";

/** The session that an agent works for in one run. */
export interface AgentSession {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

/**
 * What is expensive to build and stays the same from turn to turn: the provider's client and, byte for byte, the tools.
 * It belongs to no session: a run passes in the one it works for, and sessions of one lane share it.
 */
export interface Agent {
  readonly modelName: string;
  readonly model: Model;
  /** The models to fall back to, in order. */
  readonly fallbacks?: readonly NamedModel[];
  /** The system prompt as of now: a session starts with it and keeps it while the frame's signature stays the same. */
  readonly system: (session: AgentSession) => Promise<string>;
  /**
   * Identifies everything the session's frame is made from, such as its workspace. Defaults to the agent's own
   * signature.
   */
  readonly frameSignature?: (session: AgentSession) => Promise<string>;
  readonly tools: ReadonlyMap<string, Tool>;
  /** Those of them that this session has; by default all of them. */
  readonly toolsFor?: (session: AgentSession) => Promise<ReadonlyMap<string, Tool>>;
  /** Roughly how much memory it takes. */
  readonly bytes: number;
  /** Called once, when nobody uses it any more. */
  close(): Promise<void>;
}

export interface AgentRequest extends AgentSession {
  readonly lane: LaneKey;
  /** The session's version before the borrower's own first write, if known. */
  readonly version?: number;
}

export interface AgentFactory {
  /**
   * Identifies everything an agent for this request is built from: the same signature means the same agent. What
   * differs between sessions that may share an agent belongs in `frameSignature`.
   */
  signature(request: AgentRequest): Promise<string>;
  /** With a signature obtained before. May reject: the run that asked for it fails with that error. */
  build(request: AgentRequest, signature: string): Promise<Agent>;
}
