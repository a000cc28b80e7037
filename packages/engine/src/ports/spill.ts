import type { EventId, Fence, NewEvent, OwnerId, RunId, SessionId } from "@holdfast/protocol";

import type { ModelCall, ModelUsage } from "./model.ts";

/** One runner's spill of one run: the fence distinguishes attempts, the place says which home it is in. */
export interface SpillRef {
  readonly session: SessionId;
  readonly runId: RunId;
  readonly fence: Fence;
  readonly place: string;
}

/** Which file it is in its place. */
export type SpillName = Pick<SpillRef, "runId" | "fence">;

export interface SpillHeader extends SpillRef {
  readonly owner: OwnerId;
  /**
   * The id of the first event of the commit that ingests the spill, so that it is ingested once, whoever does it and
   * however often.
   */
  readonly ingestId: EventId;
}

/** How the spilled stream ended, so that the model need not be called again. */
export interface SpillEnd {
  readonly how: "done" | "stopped" | "failed";
  readonly model: string;
  readonly calls: readonly ModelCall[];
  readonly usage: ModelUsage | null;
}

/**
 * What is wrong with a spill, at most one record each: `torn` (it ends in the middle), `damaged` (its checksum is
 * wrong), `repeated`, `foreign` (intact, but does not belong there).
 */
export interface SpillDamage {
  readonly kind: "torn" | "damaged" | "repeated" | "foreign";
  /** Position in the file. */
  readonly offset: number;
}

/**
 * What is known of a run's journal outside the store.
 * - `arriving`: nothing is there yet, and its end is unknown. It may still come. `isBegun`: its file exists but
 * contains only the header.
 * - `output`: what was said and done. `end` is `null` if the runner did not live to write it.
 * - `sealed`: its end is known, and there is no output.
 * - `known_empty`: this is where the runner would have written, it is readable, and there is nothing.
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

/** `full` and `unavailable` mean the same for a local file as for the store. */
export type SpillResult =
  | { readonly status: "kept" }
  | {
      readonly status: "failed";
      readonly code: "spill_full" | "spill_unavailable";
      readonly message: string;
    };

/** A spill being written. One call at a time; anything answered `kept` survives a power cut. */
export interface SpillFile {
  append(events: readonly NewEvent[]): Promise<SpillResult>;
  /** Nothing is appended after it. */
  seal(end: SpillEnd): Promise<SpillResult>;
  /** Leaves it to whoever recovers the run. */
  close(): Promise<void>;
  /** Everything in it is in the store. */
  discard(): Promise<void>;
}

export type SpillBeginResult =
  | { readonly status: "begun"; readonly file: SpillFile }
  | Exclude<SpillResult, { status: "kept" }>;

/**
 * Where a run's journal goes while the store cannot take it, and where it is looked for afterwards. Nothing here is
 * ever shown: it counts only once ingested into the store.
 * Writes resolve to a value in every case. `read` and `left` never reject either: something may still turn up in a
 * place that cannot be read. What they return is decoded; a file may contain anything.
 */
export interface SpillStore {
  /** Recorded with the run, so that whoever recovers it knows whether to look here. */
  readonly place: string;
  /** Reserves space for one more spill before it is needed. */
  reserve(): Promise<void>;
  begin(header: SpillHeader): Promise<SpillBeginResult>;
  /**
   * Whether `read` would be conclusive: there is a file with content, or proof that there is none. Fast, since it opens
   * no file. Never rejects.
   */
  isReady(ref: SpillRef): Promise<boolean>;
  read(ref: SpillRef): Promise<SpillReadResult>;
  /** Call it once the spill's content is durable in the store. */
  forget(ref: SpillRef): Promise<void>;
  /** Spills that nobody in this process is writing. */
  left(): Promise<readonly SpillHeader[]>;
  /** Every spill in this place, whoever writes it. `null` if that cannot be told. Never rejects. */
  all(): Promise<readonly SpillName[] | null>;
}
