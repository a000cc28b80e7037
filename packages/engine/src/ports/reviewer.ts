import type { OwnerId, SessionId } from "@holdfast/protocol";

import type { ModelUsage } from "./model.ts";

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
