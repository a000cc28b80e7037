import type { MessageId, OwnerId, Seq, SessionId } from "@holdfast/protocol";

export type SearchRole = "user" | "assistant" | "tool" | "notice" | "title";

export interface SearchQuery {
  /** Words; `"a phrase"`; `pre*`. Anything else also matches inside words, even just two CJK characters. */
  readonly text: string;
  readonly session?: SessionId;
  readonly role?: SearchRole;
  /** Milliseconds, inclusive. */
  readonly since?: number;
  readonly until?: number;
  /** Leaves out versions of a turn that are out of view. */
  readonly onlyInView?: true;
  readonly limit: number;
  readonly cursor?: string;
}

export interface SearchHit {
  readonly session: SessionId;
  readonly title: string | null;
  readonly seq: Seq;
  readonly role: SearchRole;
  readonly at: number;
  /** It is in a version that is out of view, and choosing this one shows it. */
  readonly alternative?: MessageId;
  /** Plain text around the match, and the match positions in it (from, to). */
  readonly snippet: string;
  readonly highlights: readonly (readonly [number, number])[];
}

export type SearchResult =
  | {
      readonly status: "ok";
      readonly hits: readonly SearchHit[];
      readonly next: string | null;
      /** Set while the index is being built: older messages may be missing. */
      readonly indexing?: true;
    }
  /** The index is being rebuilt or cannot be read; everything else keeps working. */
  | { readonly status: "unavailable"; readonly message: string };

/** Newest first. The index trails the log by a moment and never holds up a write. */
export interface Search {
  search(owner: OwnerId, query: SearchQuery): Promise<SearchResult>;
  /** Resolves when everything committed before the call can be found. */
  settled(): Promise<void>;
  /** Rebuilds the index from scratch while searches and writes continue. */
  rebuild(): Promise<void>;
}
