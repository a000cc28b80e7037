import type { OwnerId, SessionId } from "@holdfast/protocol";
import type { Failed } from "./commit.ts";

/** A small value that belongs to no session: how far a poller has read, who may speak to a bot. */
export interface RegisterRow {
  readonly owner: OwnerId;
  readonly key: string;
  /** JSON, at most 16,000 characters. */
  readonly value: string;
  /** Counts its changes: who changes it says which one it has seen. */
  readonly revision: number;
  readonly at: number;
}

export interface RegisterChange extends Pick<RegisterRow, "owner" | "key" | "value"> {
  /** 0: there is none yet. */
  readonly expect: number;
}

export type RegisterResult =
  | { readonly status: "put"; readonly row: RegisterRow }
  /** Somebody else was faster. Nothing was written. */
  | { readonly status: "moved"; readonly row: RegisterRow | null }
  | Failed;

export interface Register {
  read(owner: OwnerId, key: string): Promise<RegisterRow | null>;
  /** Those whose key begins so, in the order of their keys. */
  list(owner: OwnerId, prefix: string, limit: number): Promise<readonly RegisterRow[]>;
  put(change: RegisterChange): Promise<RegisterResult>;
}

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
