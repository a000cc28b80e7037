import type { OwnerId, RunId, Seq, SessionId, TaintSource } from "@holdfast/protocol";

/** Which provider has to remember a turn. It is stored with the turn; a handle is only a way to reach it. */
export interface MemoryOwner {
  readonly provider: string;
  /** A hash of the provider's configuration. */
  readonly configuration: string;
}

/** A completed turn: the text of the person and of the model. */
export interface MemoryTurn {
  /** Grows from turn to turn of a session. */
  readonly generation: Seq;
  readonly runId: RunId;
  /** When it was completed, by the store's clock. */
  readonly at: number;
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly text: string }[];
  /** What the model had read that a stranger may have written: keep nothing of the turn without a person's yes. */
  readonly taint?: readonly TaintSource[];
}

export interface MemorySegment {
  readonly owner: OwnerId;
  readonly session: SessionId;
  /** P10: a segment may arrive more than once, always under the same key: it counts once. */
  readonly key: string;
  readonly turns: readonly MemoryTurn[];
}

/**
 * `committed` means that the turns are stored for good. A provider never swallows errors: anything else is a failure.
 */
export type MemoryAnswer =
  | { readonly status: "committed" }
  | {
      readonly status: "failed";
      readonly code: string;
      readonly message: string;
      readonly retryAfterMs?: number;
    };

export interface Recollection {
  readonly text: string;
}

export interface MemoryQuery {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly text: string;
}

/** Sentences a model found worth remembering. */
export interface MemoryLesson {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly key: string;
  readonly texts: readonly string[];
  /** What of the conversation a stranger may have written: keep nothing of it without a person's yes. */
  readonly taint?: readonly TaintSource[];
}

/** A way to reach one owner. Its answers may be slow: callers use a timeout. */
export interface MemoryHandle {
  readonly owner: MemoryOwner;
  commit(batch: MemorySegment, signal: AbortSignal): Promise<MemoryAnswer>;
  /**
   * Stores what a review of a conversation found, in a model's words. Without it nothing is reviewed for this provider.
   * Here too a key counts once.
   */
  learn?(lesson: MemoryLesson, signal: AbortSignal): Promise<MemoryAnswer>;
  /** Best match first. */
  recall(query: MemoryQuery, signal: AbortSignal): Promise<readonly Recollection[]>;
  close(): Promise<void>;
}

export interface MemoryProviders {
  /** Which provider has to remember turns completed now; `null` if none. */
  current(): MemoryOwner | null;
  /** `null`: it cannot be reached with the current configuration. */
  open(owner: MemoryOwner): Promise<MemoryHandle | null>;
}
