import type { ApprovalId, MessageId, OwnerId, RunId, Seq, SessionId } from "@holdfast/protocol";

import type { Backend } from "../store/protocol.ts";

/** Short, so that a stopped runner wakes up after another one's takeover. */
export const leaseMs = 2_000;

/** A process that hasn't exited by then hangs. */
export const exitTimeoutMs = 60_000;

/** What a runner is told when it starts. Every line after it is a request. */
export interface RunnerOptions {
  readonly backend: Backend;
  readonly target: string;
  readonly owner: OwnerId;
  /** This very process: its successor in the same slot has another name. */
  readonly name: string;
  /** Where tools record their effects, outside of the store. */
  readonly effects: string;
  /** Where streams continue while the store is away: each slot has its own, as each home does. */
  readonly spill: string;
  readonly seed: number;
}

/** What a client requests, through any endpoint. */
export type ClientRequest =
  | { readonly act: "create" }
  | {
      readonly act: "send";
      readonly session: SessionId;
      readonly clientId: string;
      readonly text: string;
      readonly mode: "queue" | "steer" | "interrupt";
    }
  | { readonly act: "cancel"; readonly session: SessionId; readonly runId: RunId }
  | { readonly act: "retry"; readonly session: SessionId; readonly clientId: string }
  | {
      readonly act: "answer";
      readonly session: SessionId;
      readonly approvalId: ApprovalId;
      readonly decision: "once" | "session" | "deny";
    }
  | { readonly act: "truncate"; readonly session: SessionId; readonly from: Seq }
  | {
      readonly act: "undo" | "redo" | "clear" | "branch" | "trash" | "restore" | "read";
      readonly session: SessionId;
    };

export interface RunnerRequest {
  readonly number: number;
  readonly request: ClientRequest;
}

/**
 * How a request ended.
 *
 * - `done`: acknowledged; it must be found afterwards.
 * - `refused`: nothing was written.
 * - `failed`: the store could not do it, or doesn't know.
 * - `lost`: no answer came in time; it may have been done or not.
 */
export type ClientResponse =
  | {
      readonly kind: "done";
      readonly session?: SessionId;
      readonly messageId?: MessageId;
      readonly runId?: RunId;
      readonly seq?: Seq;
      /** What was read, in short: the same for everybody who reads the same. */
      readonly read?: ReadSummary;
    }
  | { readonly kind: "refused" | "failed"; readonly code: string }
  | { readonly kind: "lost"; readonly why: string };

export interface ReadSummary {
  readonly head: number;
  readonly entries: string;
  readonly inbox: number;
}

/** What a runner prints, a line each, at once. */
export type RunnerMessage =
  | { readonly word: "ready" }
  | { readonly word: "answer"; readonly number: number; readonly answer: ClientResponse }
  /** `head`: the session's newest seq when the lease was already ours. */
  | {
      readonly word: "leased";
      readonly session: SessionId;
      readonly fence: number;
      readonly head: number;
    }
  | {
      readonly word: "committed";
      readonly session: SessionId;
      readonly fence: number;
      readonly first: number;
      readonly last: number;
    }
  | { readonly word: "fenced"; readonly session: SessionId; readonly fence: number }
  /** `code` is the store's; a bug has none. */
  | { readonly word: "error"; readonly code: string | null; readonly text: string };

/** One line of the effects file. */
export interface Effect {
  readonly callId: string;
  readonly by: string;
  readonly replay: "never" | "safe";
}
