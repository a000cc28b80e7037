import type { OwnerId, SessionId } from "@holdfast/protocol";
import type { ModelUsage } from "./model.ts";

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

export interface TitleRequest {
  readonly owner: OwnerId;
  readonly session: SessionId;
  /** What a person said first, and what the answer was; either may be cut short. */
  readonly question: string;
  readonly answer: string;
}

export type TitleResult =
  | {
      readonly status: "titled";
      readonly title: string;
      readonly model: string;
      readonly usage: ModelUsage | null;
    }
  | { readonly status: "failed" };

/** Names a conversation. It never throws, and ends soon after its signal is aborted. */
export interface Titler {
  title(request: TitleRequest, signal: AbortSignal): Promise<TitleResult>;
}

/** What was said lately, as it stood when the review began. Secrets are left out already. */
export interface ReviewRequest {
  /** The review's own: it is no run, and the session knows nothing of it. */
  readonly id: string;
  /** Whose talk it is: it goes to nobody who has not been talked to. */
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly material: readonly { readonly role: "user" | "assistant"; readonly text: string }[];
}

export type ReviewAnswer =
  | {
      readonly status: "reviewed";
      /** Sentences that are worth keeping; often none. */
      readonly lessons: readonly string[];
      readonly model: string;
      readonly usage: ModelUsage | null;
    }
  | { readonly status: "failed"; readonly code: string; readonly message: string };

/** Reads a stretch of conversation for what is worth remembering. It gets words, and nothing to write with. */
export interface Reviewer {
  review(request: ReviewRequest, signal: AbortSignal): Promise<ReviewAnswer>;
}
