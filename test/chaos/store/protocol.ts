import type { Commit } from "@holdfast/engine";
import { openPostgresStore, openSqliteStore } from "@holdfast/store";

export type Backend = "sqlite" | "postgres";

/** What a writer is told when it starts. */
export interface WriterTask {
  /** `warm up`: open and close the store, and write the compile cache for those that will be killed before they can. */
  readonly task: "write" | "warm up";
  readonly backend: Backend;
  /** A file or a URL. */
  readonly target: string;
  readonly seed: number;
  readonly owner: Commit["owner"];
  /** All writers append to these. */
  readonly shared: readonly Commit["session"][];
  /** Runs happen in these, one at a time in each. */
  readonly contested: readonly Commit["session"][];
  /** What a predecessor had sent without getting an answer. */
  readonly unanswered: readonly Commit[];
}

/** What a writer prints, a line each, at once. */
export type WriterMessage =
  | { readonly word: "ready" }
  | { readonly word: "sending"; readonly commit: Commit }
  | {
      readonly word: "acknowledged";
      readonly session: Commit["session"];
      readonly ids: readonly string[];
      readonly first: number;
      readonly fence?: number;
      readonly repeated: boolean;
    }
  | { readonly word: "refused"; readonly code: string; readonly ids: readonly string[] }
  | { readonly word: "failed"; readonly code: string }
  | { readonly word: "took over" }
  /** A branch was made that reads these messages of its origin. */
  | {
      readonly word: "branched";
      readonly session: Commit["session"];
      readonly texts: readonly string[];
    }
  | { readonly word: "purged"; readonly session: Commit["session"] };

export function openStore(backend: Backend, target: string) {
  return backend === "sqlite"
    ? openSqliteStore({ file: target, checkpointPages: 50 })
    : openPostgresStore({ url: target });
}
