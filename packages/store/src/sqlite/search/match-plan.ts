import {
  foldText,
  snippetText,
  type Token,
  tokensOf,
  isPairToken,
} from "../../shared/search-text/tokens.ts";
import type { Connection } from "../connection.ts";
import {
  knownEvent,
  searchableTextOf,
  ownerToken,
  roleToken,
  sessionToken,
  type StoreReader,
} from "./documents.ts";
import type { SearchRole } from "@holdfast/engine";
import { type Term } from "../../shared/search-text/query.ts";

const sampleSize = 256;
const maxSampleChars = 8_000;

/**
 * Estimates how common tokens are from a sample of the documents. Only speed depends on it: the rarest of a term's
 * tokens are enough to find its candidates.
 */
export class TokenFrequencies {
  #counts = new Map<Token, number>();
  #sampled = 0;
  #documents = 0;

  /** Takes a new sample when the index has doubled or halved in size. */
  refresh(index: Connection, store: StoreReader, documents: number): void {
    if (this.#sampled > 0 && documents < this.#documents * 2 && documents >= this.#documents / 2)
      return;
    this.#documents = documents;
    this.#sampled = 0;
    this.#counts = new Map();
    const stride = Math.max(1, Math.floor(documents / sampleSize));
    for (let id = documents; id > 0 && this.#sampled < sampleSize; id -= stride) {
      const place = index.sql("SELECT place FROM documents WHERE id = ?").get(id)?.["place"];
      if (place !== undefined) this.#sample(store, Math.floor(Number(place) / 2));
    }
  }

  /** The share of documents with this token, between 0 and 1. */
  of(token: Token): number {
    return ((this.#counts.get(token) ?? 0) + 0.1) / (this.#sampled + 1);
  }

  #sample(store: StoreReader, pos: number): void {
    const row = store.eventAt(pos);
    const event = row && knownEvent(row);
    const searchable = event && searchableTextOf(event);
    if (row === undefined || searchable === undefined) return;
    this.#sampled += 1;
    const tokens = tokensOf(foldText(snippetText(searchable.text.slice(0, maxSampleChars))));
    const key = Number(row["session_key"]);
    tokens
      .add(sessionToken(key))
      .add(roleToken(searchable.role))
      .add(ownerToken(ownerOf(store, key)));
    for (const token of tokens) this.#counts.set(token, (this.#counts.get(token) ?? 0) + 1);
  }
}

function ownerOf(store: StoreReader, key: number): string {
  const row = store.connection.sql("SELECT owner_id FROM sessions WHERE key = ?").get(key);
  return String(row?.["owner_id"] ?? "");
}

export interface SearchScope {
  readonly owner: string;
  readonly role?: SearchRole;
  /** The logs that the session reads, when the query names one. */
  readonly logs?: readonly number[];
}

/** Checking one more document costs as much as scanning a few thousand posting list entries. */
const tokensPerQuery = 8;
const commonShare = 0.4;
const maxLogs = 16;

/**
 * The full-text expression that finds candidates for all terms. A match has every token of the query, so any subset
 * is correct, and a few rare ones are fast. Tokens contain no quotes, so they need no escaping.
 */
export function planMatch(
  terms: readonly Term[],
  scope: SearchScope,
  frequencies: TokenFrequencies,
): string {
  const perTerm = Math.max(2, Math.ceil(tokensPerQuery / 2 / terms.length));
  const chosen = new Set<Token>();
  for (const { tokens } of terms) {
    const [pairs, others] = [
      tokens.filter(isPairToken),
      tokens.filter((token) => !isPairToken(token)),
    ];
    for (const token of rarestTokens(pairs, perTerm, frequencies)) chosen.add(token);
    for (const token of rarestTokens(others, perTerm, frequencies)) chosen.add(token);
  }
  const parts = rarestTokens([...chosen], tokensPerQuery, frequencies).map(quotedToken);
  return [...parts, ...scopeParts(scope, frequencies)].join(" AND ");
}

/** The rarest tokens, without those that most documents have unless nothing else is left. */
function rarestTokens(
  tokens: readonly Token[],
  count: number,
  frequencies: TokenFrequencies,
): readonly Token[] {
  const sorted = tokens
    .map((token) => ({ token, share: frequencies.of(token) }))
    .toSorted((a, b) => a.share - b.share);
  return sorted
    .slice(0, count)
    .filter(({ share }, index) => index === 0 || share < commonShare)
    .map(({ token }) => token);
}

function scopeParts(
  { owner, role, logs }: SearchScope,
  frequencies: TokenFrequencies,
): readonly string[] {
  const parts: string[] = [];
  for (const token of [ownerToken(owner), ...(role === undefined ? [] : [roleToken(role)])]) {
    if (frequencies.of(token) < commonShare) parts.push(quotedToken(token));
  }
  if (logs !== undefined && logs.length <= maxLogs) {
    parts.push(`(${logs.map((key) => quotedToken(sessionToken(key))).join(" OR ")})`);
  }
  return parts;
}

function quotedToken(token: Token): string {
  return `"${token}"`;
}
