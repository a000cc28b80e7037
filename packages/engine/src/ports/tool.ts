import type {
  BlobId,
  CallId,
  Json,
  OwnerId,
  RunId,
  SessionId,
  ToolDetails,
  ToolOutcome,
} from "@holdfast/protocol";

import type { ToolSpec } from "./model.ts";

export interface ToolCall {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly runId: RunId;
  readonly callId: CallId;
  readonly input: Json;
  /** Where the tool works, as it has said itself. An approval is bound to it. */
  readonly place?: string;
}

/** What a tool is given to work with. */
export interface ToolHands {
  /** Aborted by a cancel, by the time limit and by the loss of the lease. What the tool started must end with it. */
  readonly signal: AbortSignal;
  /** Shows output while the tool runs. */
  readonly write: (text: string) => void;
}

export interface ToolResult {
  /** `unknown`: it was begun elsewhere, and nobody can say any more what it did. */
  readonly outcome: ToolOutcome;
  readonly output: string;
  readonly blobId?: BlobId;
  /** For people and pages; the model gets the output alone. What is too large to keep is left out. */
  readonly details?: ToolDetails;
}

/**
 * A tool as the engine sees it. It answers with a value, also when it fails; an exception is taken for a failure.
 * P7: `replay: "safe"` is a promise that running it again does no harm; every other tool that was started and not
 * seen to end is `unknown`, and is never started again for the same call.
 */
export interface Tool extends ToolSpec {
  readonly replay: "never" | "safe";
  readonly timeLimitMs: number;
  /** Whether a call with this input needs a person's word before it runs. None does when this is absent. */
  approval?(input: Json): "none" | "ask";
  /**
   * Where a call would work (a folder, for example). What a person allows is allowed there and nowhere else, and `run` is
   * given the very place that was decided on. Rejects when there is no such place: then the call has failed.
   */
  place?(call: ToolCall): Promise<string>;
  run(call: ToolCall, hands: ToolHands): Promise<ToolResult>;
}

/** A call that is about to run, and what its tool says about it. */
export interface PolicyQuestion extends ToolCall {
  readonly name: string;
  readonly asks: "none" | "ask";
}

/** What a person has said for good: this tool may run without being asked for. */
export interface PolicyRule {
  readonly owner: OwnerId;
  readonly tool: string;
}

/**
 * What may run here. It is asked once for each call that nobody has begun; when it cannot answer, a person is asked. What
 * people say for a session is kept in the log and needs no policy; `remember` gets what they say for always, at least once.
 */
export interface ToolPolicy {
  decide(question: PolicyQuestion): Promise<"allow" | "ask" | "deny">;
  remember(rule: PolicyRule): Promise<void>;
}
