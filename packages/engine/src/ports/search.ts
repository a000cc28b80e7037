import type { OwnerId, Seq, SessionId } from "@holdfast/protocol";

export type SearchRole = "user" | "assistant" | "tool" | "notice" | "title";

export interface SearchQuery {
  /** Words; `"a phrase"`; `pre*`; anything else is found inside words too, two CJK characters on their own as well. */
  readonly text: string;
  readonly session?: SessionId;
  readonly role?: SearchRole;
  /** Milliseconds, inclusive. */
  readonly since?: number;
  readonly until?: number;
  readonly limit: number;
  readonly cursor?: string;
}

export interface SearchHit {
  readonly session: SessionId;
  readonly title: string | null;
  readonly seq: Seq;
  readonly role: SearchRole;
  readonly at: number;
  /** Plain text around the match, and where in it the matches are (from, to). */
  readonly snippet: string;
  readonly highlights: readonly (readonly [number, number])[];
}

export type SearchResult =
  | {
      readonly status: "ok";
      readonly hits: readonly SearchHit[];
      readonly next: string | null;
      /** Set while the index is being made: older messages may be missing. */
      readonly indexing?: true;
    }
  /** The index is being rebuilt or cannot be read; everything else goes on. */
  | { readonly status: "unavailable"; readonly message: string };

/** Newest first. The index trails the log by a moment and never holds a write up. */
export interface Search {
  search(owner: OwnerId, query: SearchQuery): Promise<SearchResult>;
  /** Resolves when everything that was committed before the call can be found. */
  settled(): Promise<void>;
  /** Throws the index away and makes it again, while searches and writes go on. */
  rebuild(): Promise<void>;
}
