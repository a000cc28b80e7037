import type { WebSearchProvider } from "@holdfast/protocol";

/** How recent results have to be. */
export const searchAges = ["day", "week", "month", "year"] as const;
export type SearchAge = (typeof searchAges)[number];

export interface SearchQuery {
  readonly query: string;
  readonly since?: SearchAge | undefined;
  readonly count: number;
}

/** Where searches go, and the key that belongs to that address. */
export interface SearchAccount {
  readonly provider: WebSearchProvider;
  readonly address: string;
  readonly key: string | null;
  readonly keyFrom: SearchKeySource;
}

export type SearchKeySource =
  | { readonly from: "environment"; readonly name: string }
  | { readonly from: "stored" }
  | { readonly from: "none" };

export interface SearchRequest {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A result as its provider wrote it: markup, any address, any date. */
export interface RawResult {
  readonly url: string;
  readonly title?: string | null | undefined;
  readonly snippet?: string | null | undefined;
  readonly date?: string | null | undefined;
}

export interface SearchResult {
  readonly title: string;
  /** http or https. */
  readonly url: string;
  readonly snippet: string;
  /** As `2026-08-31`, if the provider knows it. */
  readonly date: string | null;
}

export type SearchFailureCode =
  | "search_not_set_up"
  | "search_key_rejected"
  | "search_no_credit"
  | "search_rate_limited"
  | "search_json_off"
  | "search_too_large"
  | "search_bad_answer"
  | "search_unreachable"
  | "search_failed"
  | "cancelled";

export interface SearchFailure {
  readonly code: SearchFailureCode;
  /** What happened, and what to do. */
  readonly message: string;
}

export type SearchOutcome =
  | { readonly ok: true; readonly results: readonly SearchResult[] }
  | { readonly ok: false; readonly failure: SearchFailure };

/** What is particular to one provider. The network and its limits are in `ask-provider.ts`. */
export interface SearchProvider {
  readonly title: string;
  /** `null` if people run it themselves. */
  readonly address: string | null;
  /** The environment variables that may hold its key, in order; none if it takes no key. */
  readonly variables: readonly string[];
  request(query: SearchQuery, account: SearchAccount, now: number): SearchRequest;
  /** `null` if this is not an answer of the provider. */
  results(body: unknown): readonly RawResult[] | null;
  /** What a status means here, where that differs from what it usually means. */
  explain?(status: number, body: string): SearchFailure | null;
}

export function withoutEndSlash(address: string): string {
  return address.replace(/\/+$/, "");
}
