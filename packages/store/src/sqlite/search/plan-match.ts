import type { SearchRole } from "@holdfast/engine";

import { isPair, type Token } from "../../shared/search-text/tokens.ts";
import { type Term } from "../../shared/search-text/search-text-terms.ts";
import type { Frequencies } from "./match-plan.ts";
import { ownerToken, roleToken, sessionToken } from "./scope.ts";

export interface Scope {
  readonly owner: string;
  readonly role?: SearchRole;
  /** The logs that the session reads, when one is asked for. */
  readonly logs?: readonly number[];
}

/** Looking at one more text costs as much as going through a few thousand more entries of a list. */
const tokensPerQuery = 8;
const common = 0.4;
const maxLogs = 16;

/**
 * The full-text expression that finds where all terms may be. Every token of a query holds, so any choice of them is right;
 * a few rare ones are fast. Tokens contain no quotes, so each stands in quotes as it is.
 */
export function planMatch(terms: readonly Term[], scope: Scope, frequencies: Frequencies): string {
  const perTerm = Math.max(2, Math.ceil(tokensPerQuery / 2 / terms.length));
  const chosen = new Set<Token>();
  for (const { tokens } of terms) {
    const [pairs, others] = [tokens.filter(isPair), tokens.filter((token) => !isPair(token))];
    for (const token of rarest(pairs, perTerm, frequencies)) chosen.add(token);
    for (const token of rarest(others, perTerm, frequencies)) chosen.add(token);
  }
  const parts = rarest([...chosen], tokensPerQuery, frequencies).map(quoted);
  return [...parts, ...scopeParts(scope, frequencies)].join(" AND ");
}

/** The rarest tokens; what most texts have is left out as long as something else remains. */
function rarest(
  tokens: readonly Token[],
  count: number,
  frequencies: Frequencies,
): readonly Token[] {
  const sorted = tokens
    .map((token) => ({ token, share: frequencies.of(token) }))
    .toSorted((a, b) => a.share - b.share);
  return sorted
    .slice(0, count)
    .filter(({ share }, index) => index === 0 || share < common)
    .map(({ token }) => token);
}

function scopeParts({ owner, role, logs }: Scope, frequencies: Frequencies): readonly string[] {
  const parts: string[] = [];
  for (const token of [ownerToken(owner), ...(role === undefined ? [] : [roleToken(role)])]) {
    if (frequencies.of(token) < common) parts.push(quoted(token));
  }
  if (logs !== undefined && logs.length <= maxLogs) {
    parts.push(`(${logs.map((key) => quoted(sessionToken(key))).join(" OR ")})`);
  }
  return parts;
}

function quoted(token: Token): string {
  return `"${token}"`;
}
