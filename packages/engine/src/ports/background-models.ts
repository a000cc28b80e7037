import type { OwnerId, SessionId } from "@holdfast/protocol";
import type { ModelUsage } from "./model.ts";

/** Roughly how many tokens a text has. Fast, for any text, and never far off. */
export type CountTokens = (text: string) => number;

/** A stretch of conversation as it was written; secrets are already removed. */
export interface SummaryMaterial {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
}

export interface SummaryRequest {
  readonly owner: OwnerId;
  readonly session: SessionId;
  /** The summary of what precedes the material: it is to be updated, not summarised again. */
  readonly previous: string | null;
  readonly material: readonly SummaryMaterial[];
  /** What the person wants preserved above all. */
  readonly focus?: string | undefined;
  /** Roughly how long it may be. */
  readonly limitTokens: number;
}

export type SummaryAnswer =
  | { readonly status: "summarised"; readonly text: string }
  | { readonly status: "failed"; readonly code: string; readonly message: string };

/** Writes summaries. It returns a value even if it fails, and ends soon after its signal is aborted. */
export interface Summariser {
  summarise(request: SummaryRequest, signal: AbortSignal): Promise<SummaryAnswer>;
}

export interface TitleRequest {
  readonly owner: OwnerId;
  readonly session: SessionId;
  /** A person's first message and its answer; either may be truncated. */
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

/** Recent messages as of the start of the review. Secrets are already removed. */
export interface ReviewRequest {
  /** The review's own id: it is not a run, and the session knows nothing of it. */
  readonly id: string;
  /** Whose conversation it is: it goes only to providers this owner already talks to. */
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly material: readonly { readonly role: "user" | "assistant"; readonly text: string }[];
}

export type ReviewAnswer =
  | {
      readonly status: "reviewed";
      /** Sentences worth remembering; often none. */
      readonly lessons: readonly string[];
      readonly model: string;
      readonly usage: ModelUsage | null;
    }
  | { readonly status: "failed"; readonly code: string; readonly message: string };

/** Reads a stretch of conversation for what is worth remembering. It gets text, and no means to write. */
export interface Reviewer {
  review(request: ReviewRequest, signal: AbortSignal): Promise<ReviewAnswer>;
}
