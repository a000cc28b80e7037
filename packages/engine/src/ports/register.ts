import type { OwnerId, SessionId } from "@holdfast/protocol";
import type { Failed } from "./commit.ts";

/** A small value that belongs to no session: how far a poller has read, who may talk to a bot. */
export interface RegisterRow {
  readonly owner: OwnerId;
  readonly key: string;
  /** JSON, at most 16,000 characters. */
  readonly value: string;
  /** Counts its changes: a writer names the one it has seen. */
  readonly revision: number;
  readonly at: number;
}

export interface RegisterChange extends Pick<RegisterRow, "owner" | "key" | "value"> {
  /** 0: it does not exist yet. */
  readonly expect: number;
}

export type RegisterResult =
  | { readonly status: "put"; readonly row: RegisterRow }
  /** Somebody else was faster. Nothing was written. */
  | { readonly status: "moved"; readonly row: RegisterRow | null }
  | Failed;

export interface Register {
  read(owner: OwnerId, key: string): Promise<RegisterRow | null>;
  /** Rows whose key starts with the prefix, in key order. */
  list(owner: OwnerId, prefix: string, limit: number): Promise<readonly RegisterRow[]>;
  put(change: RegisterChange): Promise<RegisterResult>;
}

/**
 * `kept-blob/<blob id>`: who keeps this blob of the owner although no event names it, as a JSON list. A blob that
 * somebody keeps is not collected.
 */
export const keptBlobPrefix = "kept-blob/";
export const keptByNobody = "[]";

/** The stored answer to a request, by its key. */
export interface RequestRow {
  readonly owner: OwnerId;
  readonly key: string;
  /** Hash of the request: a different request under the same key is a conflict. */
  readonly hash: string;
  /** The session the answer is about: purging it deletes the answer. */
  readonly session: SessionId | null;
  readonly answer: string;
  readonly at: number;
}

/** How long an answer is kept. */
export const answerRetentionMs = 7 * 24 * 60 * 60 * 1000;

export interface Requests {
  /** `null` if there is none, or if it has outlived the retention. */
  find(owner: OwnerId, key: string): Promise<RequestRow | null>;
  /** The first answer wins and is returned. Nothing is stored about a session that is gone. */
  keep(
    request: Omit<RequestRow, "at">,
  ): Promise<{ readonly status: "kept"; readonly row: RequestRow } | Failed>;
}
