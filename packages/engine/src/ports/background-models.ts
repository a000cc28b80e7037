import type { OwnerId, SessionId } from "@holdfast/protocol";

/** About how many tokens a text is. Quick, for any text, and never wrong by much. */
export type CountTokens = (text: string) => number;

/** A stretch of conversation, in the words that stand in it; secrets are left out already. */
export interface SummaryMaterial {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
}

export interface SummaryRequest {
  readonly owner: OwnerId;
  readonly session: SessionId;
  /** The summary of what stands before the material: it is to be updated, not summarised again. */
  readonly previous: string | null;
  readonly material: readonly SummaryMaterial[];
  /** What the person wants to be kept above all. */
  readonly focus?: string | undefined;
  /** About how long it may become. */
  readonly limitTokens: number;
}

export type SummaryAnswer =
  | { readonly status: "summarised"; readonly text: string }
  | { readonly status: "failed"; readonly code: string; readonly message: string };

/** Writes summaries. It answers with a value, also when it fails, and ends soon when its signal is aborted. */
export interface Summariser {
  summarise(request: SummaryRequest, signal: AbortSignal): Promise<SummaryAnswer>;
}
