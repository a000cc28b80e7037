import type { OwnerId, SessionId } from "@holdfast/protocol";

import type { Failed } from "./commit.ts";

/** What a request was answered under its key. */
export interface RequestRow {
  readonly owner: OwnerId;
  readonly key: string;
  /** Of what was asked: another request under the same key is a conflict. */
  readonly hash: string;
  /** The session that the answer speaks of: its purge takes the answer along. */
  readonly session: SessionId | null;
  readonly answer: string;
  readonly at: number;
}

/** How long an answer is kept. */
export const answerRetentionMs = 7 * 24 * 60 * 60 * 1000;

export interface Requests {
  /** `null` when there was none, or when it is older than an answer is kept. */
  find(owner: OwnerId, key: string): Promise<RequestRow | null>;
  /** The first one stands: answers with what is kept. Nothing is kept about a session that is gone. */
  keep(
    request: Omit<RequestRow, "at">,
  ): Promise<{ readonly status: "kept"; readonly row: RequestRow } | Failed>;
}
