import type { EventId, Fence, NewEvent, OwnerId, RunId, SessionId } from "@holdfast/protocol";

import type { ModelCall, ModelUsage } from "./model.ts";

/** One runner's spill of one run: the fence tells the attempts apart, the place says which home it is in. */
export interface SpillRef {
  readonly session: SessionId;
  readonly runId: RunId;
  readonly fence: Fence;
  readonly place: string;
}

export interface SpillHeader extends SpillRef {
  readonly owner: OwnerId;
  /** The id of the first event of the commit that brings the spill in: so it comes in once, whoever does it and however often. */
  readonly ingestId: EventId;
}

/** How the stream ended that went into a spill. Whoever reads it need not ask the model again. */
export interface SpillEnd {
  readonly how: "done" | "stopped" | "failed";
  readonly model: string;
  readonly calls: readonly ModelCall[];
  readonly usage: ModelUsage | null;
}

/**
 * What is wrong with a spill, at most one record for each: `torn` (it ends in the middle), `damaged` (it does not match its
 * checksum), `repeated`, `foreign` (it is whole, and says nothing that belongs there).
 */
export interface SpillDamage {
  readonly kind: "torn" | "damaged" | "repeated" | "foreign";
  /** Where in the file. */
  readonly offset: number;
}

/**
 * What is known of a run's journal outside the store.
 * - `arriving`: nothing is there, or nothing yet, and its end is not known. It may still come. `isBegun`: its file is there,
 *   and nothing but its name stands in it.
 * - `output`: this is what was said and done. `end` is `null` when the runner did not live to write it.
 * - `sealed`: its end is known, and there is no output.
 * - `known_empty`: this place is the one that the runner would have written to, it can be read, and there is nothing.
 */
export type SpillReadResult =
  | { readonly status: "arriving"; readonly isBegun?: true }
  | {
      readonly status: "output";
      readonly header: SpillHeader;
      readonly events: readonly NewEvent[];
      readonly end: SpillEnd | null;
      readonly damage: readonly SpillDamage[];
    }
  | {
      readonly status: "sealed";
      readonly header: SpillHeader;
      readonly damage: readonly SpillDamage[];
    }
  | { readonly status: "known_empty" };

/** `full` and `unavailable` say the same of a local file as they do of the store. */
export type SpillResult =
  | { readonly status: "kept" }
  | {
      readonly status: "failed";
      readonly code: "spill_full" | "spill_unavailable";
      readonly message: string;
    };

/** A spill that is being written. One call at a time; what was answered `kept` survives a power cut. */
export interface SpillFile {
  append(events: readonly NewEvent[]): Promise<SpillResult>;
  /** Nothing is appended behind it. */
  seal(end: SpillEnd): Promise<SpillResult>;
  /** Leaves it to whoever recovers the run. */
  close(): Promise<void>;
  /** Everything in it stands in the store. */
  discard(): Promise<void>;
}

export type SpillBeginResult =
  | { readonly status: "begun"; readonly file: SpillFile }
  | Exclude<SpillResult, { status: "kept" }>;

/**
 * Where a run's journal goes while the store cannot take it, and where it is looked for afterwards. Nothing here is ever
 * shown: it counts when it has been brought into the store.
 *
 * Writes resolve to a value in every case. `read` and `left` never reject either: a place that cannot be read is one where
 * things may still turn up. What they return was decoded; a file may hold anything.
 */
export interface SpillStore {
  /** Recorded with the run, so that whoever recovers it knows whether this is where to look. */
  readonly place: string;
  /** Sees to it that there is room for one more spill, before it is needed. */
  reserve(): Promise<void>;
  begin(header: SpillHeader): Promise<SpillBeginResult>;
  read(ref: SpillRef): Promise<SpillReadResult>;
  /** Call it when what the spill held is durable in the store. */
  forget(ref: SpillRef): Promise<void>;
  /** The spills that nobody in this process is writing. */
  left(): Promise<readonly SpillHeader[]>;
}
