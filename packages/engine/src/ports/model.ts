import type { BlobId, CallId, Json, JsonObject, SessionId, ToolSpec } from "@holdfast/protocol";

export type { ToolSpec };

/** What the model is sent, already paired and in order. */
export type ModelMessage =
  | { readonly role: "system"; readonly text: string }
  | {
      readonly role: "user";
      readonly text: string;
      /** Images the person attached that a model may be able to see. The text names them too. */
      readonly images?: readonly ModelImage[];
      /** PDFs that the person attached. The text quotes what they say, for models that do not take them. */
      readonly documents?: readonly ModelDocument[];
    }
  /** Something nobody said but the model has to know: sent in the user's role. */
  | { readonly role: "notice"; readonly text: string }
  | { readonly role: "assistant"; readonly parts: readonly AssistantPart[] }
  | {
      readonly role: "tool";
      readonly callId: CallId;
      readonly name: string;
      readonly output: string;
      /** Pictures that the tool returned. The output names them too. */
      readonly images?: readonly ModelImage[];
    };

export interface ModelDocument {
  readonly blobId: BlobId;
  readonly name: string;
  readonly pages: number;
  /** Where the message's text quotes it (from, to): a model that gets the file does not need the quote. */
  readonly quoted: readonly [number, number];
}

/** In the order the model produced them: a provider checks that its own parts come back unchanged. */
export type AssistantPart =
  | { readonly kind: "text" | "reasoning"; readonly text: string; readonly opaque?: JsonObject }
  /** A picture that the model made. */
  | ({ readonly kind: "image"; readonly opaque?: JsonObject } & ModelImage)
  | ({ readonly kind: "call" } & ModelCall);

export interface ModelImage {
  readonly blobId: BlobId;
  readonly mediaType: string;
}

export interface ModelCall {
  readonly callId: CallId;
  readonly name: string;
  readonly input: Json;
  /** The input is the raw text found in place of arguments. It is never run. */
  readonly malformed?: true;
  readonly opaque?: JsonObject;
}

export interface ModelRequest {
  readonly model: string;
  /** Whose conversation it is, for a provider that groups cached prefixes by it. */
  readonly session?: SessionId;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSpec[];
}

export interface ModelUsage {
  /** All of it, including cache reads and writes. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly costMicros?: number;
  /** The provider did not report all of it. */
  readonly estimated?: true;
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
  /**
   * `opaque` is what the provider wants back unchanged with the part. It ends the part: what follows is another one.
   */
  | { readonly kind: "text" | "reasoning"; readonly text: string; readonly opaque?: JsonObject }
  | ({ readonly kind: "call" } & Omit<ModelCall, "callId">)
  /** `mediaType` is what the provider says; `null` bytes: it gave an address instead. */
  | {
      readonly kind: "image";
      readonly mediaType: string;
      readonly bytes: Uint8Array | null;
      readonly opaque?: JsonObject;
    }
  | { readonly kind: "usage"; readonly usage: ModelUsage }
  | { readonly kind: "failed"; readonly failure: ModelFailure };

/** A model under the name people know it by. */
export interface NamedModel {
  readonly name: string;
  readonly model: Model;
}

/**
 * A model as the engine sees it: a stream of events. The stream ends by itself, or with one `failed`; it never throws.
 * It ends soon after the signal is aborted; an iterator that does not is abandoned.
 */
export interface Model {
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}
