import type { BlobId, CallId, Json, RunId, SessionId, ToolOutcome } from "@holdfast/protocol";

import type { ToolSpec } from "./model.ts";

export interface ToolCall {
  readonly session: SessionId;
  readonly runId: RunId;
  readonly callId: CallId;
  readonly input: Json;
}

/** What a tool is given to work with. */
export interface ToolHands {
  /** Aborted by a cancel, by the time limit and by the loss of the lease. What the tool started must end with it. */
  readonly signal: AbortSignal;
  /** Shows output while the tool runs. */
  readonly write: (text: string) => void;
}

export interface ToolResult {
  readonly outcome: Exclude<ToolOutcome, "unknown">;
  readonly output: string;
  readonly blobId?: BlobId;
}

/**
 * A tool as the engine sees it. It answers with a value, also when it fails; an exception is taken for a failure.
 * P7: `replay: "safe"` is a promise that running it again does no harm; every other tool that was started and not
 * seen to end is `unknown`, and is never started again for the same call.
 */
export interface Tool extends ToolSpec {
  readonly replay: "never" | "safe";
  readonly timeLimitMs: number;
  run(call: ToolCall, hands: ToolHands): Promise<ToolResult>;
}
