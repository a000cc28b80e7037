import type { RunId, SessionId } from "@holdfast/protocol";

/** Stable codes for what can be wrong. A code may be added, never renamed. */
export type FindingCode =
  /** A seq below the head without a row that no settled entry names. */
  | "number_missing"
  | "number_repeated"
  /** A settled entry names a seq that is not a delta of its own. */
  | "number_explained_twice"
  /** An output row that is open although it was settled, or vice versa, or in the wrong table. */
  | "delta_misplaced"
  /** A row whose checksum is wrong or that does not parse. */
  | "event_unreadable"
  /** A row that parses but that its own schema refuses. */
  | "event_invalid"
  /** A row that was changed after it was written, or whose predecessor was changed, removed or inserted. */
  | "chain_broken"
  /** A log that does not start with the creation of its session. */
  | "session_unfounded"
  | "head_differs"
  /** A derived row that is missing, superfluous, or different from what the log says. */
  | "row_missing"
  | "row_extra"
  | "row_differs"
  /** The visible ranges overlap, are out of order or reach beyond the log. */
  | "ranges_unsound"
  /** A branch reads rows of another log that are missing. */
  | "origin_missing"
  /** A lane that does not point at the session bound last. */
  | "lane_differs"
  | "blob_missing"
  | "blob_damaged"
  /** The object that has a blob's bytes is not in object storage, or has other bytes. */
  | "object_missing"
  | "object_damaged"
  | "blob_refs_differ"
  | "lease_unsound"
  | "row_orphaned"
  /** What the database reports about itself. */
  | "integrity_failed";

/** `possible`: a rebuild can repair it. Absent: nothing here can. */
export type Repair = "possible" | "done" | "failed";

export interface Finding {
  readonly code: FindingCode;
  readonly table: string;
  readonly session?: SessionId;
  readonly key: string;
  readonly message: string;
  readonly repair?: Repair;
}

/** The exit code of the process. */
export const fsckExit = { clean: 0, repaired: 1, damaged: 2, failed: 3 } as const;

export interface LeftSpill {
  readonly session: SessionId;
  readonly runId: RunId;
}

export interface FsckSummary {
  readonly sessions: number;
  readonly events: number;
  readonly blobs: number;
  readonly findings: number;
  readonly repaired: number;
  /** What could not be proven either way: the store was being written, or object storage could not be reached. */
  readonly unproven: readonly string[];
  /** Spilled output that has not been ingested yet: not damage, but not in the log either. */
  readonly spills: readonly LeftSpill[];
  readonly exitCode: (typeof fsckExit)[keyof typeof fsckExit];
  /** Why it could not finish. */
  readonly failure?: string;
}

export type FsckItem =
  | { readonly kind: "finding"; readonly finding: Finding }
  | { readonly kind: "summary"; readonly summary: FsckSummary };
