import type { OwnerId, SessionId } from "@holdfast/protocol";

import type { ModelUsage } from "./model.ts";

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
