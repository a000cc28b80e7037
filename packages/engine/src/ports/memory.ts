import type { OwnerId, RunId, Seq, SessionId } from "@holdfast/protocol";

/** Who has to remember a turn. It is stored with the turn; a handle is only a way to reach it. */
export interface MemoryOwner {
  readonly provider: string;
  /** A hash of what the provider was configured with. */
  readonly configuration: string;
}

/** A completed turn, in the words of the person and of the model. */
export interface MemoryTurn {
  /** Grows from turn to turn of a session. */
  readonly generation: Seq;
  readonly runId: RunId;
  /** When it was completed, by the store's clock. */
  readonly at: number;
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly text: string }[];
}

export interface MemoryBatch {
  readonly owner: OwnerId;
  readonly session: SessionId;
  /** P10: a segment may come more than once, and always under the same key: it counts once. */
  readonly key: string;
  readonly turns: readonly MemoryTurn[];
}

/** `committed` means that the turns are kept for good. A provider never swallows: whatever else happened is a failure. */
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

/** Sentences that a model has found worth keeping. */
export interface MemoryLesson {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly key: string;
  readonly texts: readonly string[];
}

/** A way to reach one owner. What it says may be late: whoever waits for it waits for a time. */
export interface MemoryHandle {
  readonly owner: MemoryOwner;
  commit(batch: MemoryBatch, signal: AbortSignal): Promise<MemoryAnswer>;
  /**
   * Keeps what a review of a conversation found, in a model's words. Without it nothing is reviewed for this provider. A key
   * counts once here too.
   */
  learn?(lesson: MemoryLesson, signal: AbortSignal): Promise<MemoryAnswer>;
  /** The most fitting first. */
  recall(query: MemoryQuery, signal: AbortSignal): Promise<readonly Recollection[]>;
  close(): Promise<void>;
}

export interface MemoryProviders {
  /** Who has to remember the turns that are completed now; `null` when nobody has to. */
  current(): MemoryOwner | null;
  /** `null`: it cannot be reached with today's configuration. */
  open(owner: MemoryOwner): Promise<MemoryHandle | null>;
}
