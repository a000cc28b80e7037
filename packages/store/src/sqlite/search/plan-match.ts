import type { SearchRole } from "@holdfast/engine";

import { isPairToken, type Token } from "../../shared/search-text/tokens.ts";
import { type Term } from "../../shared/search-text/search-text-terms.ts";
import type { TokenFrequencies } from "./match-plan.ts";
import { ownerToken, roleToken, sessionToken } from "./scope.ts";

export interface SearchScope {
  readonly owner: string;
  readonly role?: SearchRole;
  /** The logs that the session reads, when one is asked for. */
  readonly logs?: readonly number[];
}

/** Looking at one more text costs as much as going through a few thousand more entries of a list. */
const tokensPerQuery = 8;
const commonShare = 0.4;
const maxLogs = 16;

/**
 * The full-text expression that finds where all terms may be. Every token of a query holds, so any choice of them is right;
 * a few rare ones are fast. Tokens contain no quotes, so each stands in quotes as it is.
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

/** The rarest tokens; what most texts have is left out as long as something else remains. */
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
