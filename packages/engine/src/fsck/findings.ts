import type { RunId, SessionId } from "@holdfast/protocol";

/** The stable names of what can be wrong. A code may be added, never renamed. */
export type FindingCode =
  /** A number below the head that no row has and no settled entry stands for. */
  | "number_missing"
  | "number_repeated"
  /** A settled entry names a number that is not a delta of its own to name. */
  | "number_explained_twice"
  /** An output row that is open although it was settled, or the other way round, or in the wrong table. */
  | "delta_misplaced"
  /** A row whose checksum is wrong or that does not parse. */
  | "event_unreadable"
  /** A row that parses and that its own schema refuses. */
  | "event_invalid"
  /** A log that does not begin with the creation of its session. */
  | "session_unfounded"
  | "head_differs"
  /** A derived row that is not there, should not be there, or says something else than the log. */
  | "row_missing"
  | "row_extra"
  | "row_differs"
  /** The visible stretches overlap, are out of order or reach beyond the log. */
  | "ranges_unsound"
  /** A lane that does not point at the session that was bound last. */
  | "lane_differs"
  | "blob_missing"
  | "blob_damaged"
  | "blob_refs_differ"
  | "lease_unsound"
  | "row_orphaned"
  /** What the database says about itself. */
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

/** What the process that ran it ends with. */
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
  /** What could not be proven either way, since the store was being written. */
  readonly unproven: readonly string[];
  /** Output that lies in files beside the store and is still to be brought in: no damage, but not in the log either. */
  readonly spills: readonly LeftSpill[];
  readonly exitCode: (typeof fsckExit)[keyof typeof fsckExit];
  /** Why it could not run to its end. */
  readonly failure?: string;
}

export type FsckItem =
  | { readonly kind: "finding"; readonly finding: Finding }
  | { readonly kind: "summary"; readonly summary: FsckSummary };
