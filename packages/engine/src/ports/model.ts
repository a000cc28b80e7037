import type { CallId, Json, JsonObject, ToolSpec } from "@holdfast/protocol";

export type { ToolSpec };

/** What the model is told, already paired and in order. */
export type ModelMessage =
  | { readonly role: "system"; readonly text: string }
  | { readonly role: "user"; readonly text: string }
  | {
      readonly role: "assistant";
      readonly text: string;
      readonly reasoning: readonly { readonly text: string; readonly opaque?: JsonObject }[];
      readonly calls: readonly ModelCall[];
    }
  | {
      readonly role: "tool";
      readonly callId: CallId;
      readonly name: string;
      readonly output: string;
    };

export interface ModelCall {
  readonly callId: CallId;
  readonly name: string;
  readonly input: Json;
}

export interface ModelRequest {
  readonly model: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSpec[];
}

export interface ModelUsage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly costMicros?: number;
}

/**
 * Why a model call failed, by what can be done about it.
 * - `retryable`: a cut connection, a server error. Try again after a moment.
 * - `overloaded`: try again, not before `retryAfterMs`.
 * - `overflow`: the context is too long. Compact, then try again.
 * - `auth`, `refused`, `fatal`: trying again does not help.
 */
export interface ModelFailure {
  readonly class: "retryable" | "overloaded" | "overflow" | "auth" | "refused" | "fatal";
  /** Stable; it reaches the person unchanged. */
  readonly code: string;
  readonly message: string;
  readonly retryAfterMs?: number;
}

export type ModelEvent =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "reasoning"; readonly text: string; readonly opaque?: JsonObject }
  | { readonly kind: "call"; readonly name: string; readonly input: Json }
  | { readonly kind: "usage"; readonly usage: ModelUsage }
  | { readonly kind: "failed"; readonly failure: ModelFailure };

/**
 * A model as the engine sees it: a stream of what it says. The stream ends by itself, or with one `failed`; it never
 * throws. When the signal is aborted it ends soon; an iterator that does not is abandoned.
 */
export interface Model {
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}
