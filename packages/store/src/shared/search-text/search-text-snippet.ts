import type { FoldedText } from "./fold.ts";
import { findPattern } from "./query.ts";
import type { Term } from "./search-text-terms.ts";

export interface Snippet {
  readonly snippet: string;
  readonly highlights: readonly (readonly [number, number])[];
}

interface Match {
  readonly term: number;
  readonly from: number;
  readonly to: number;
}

const snippetLength = 160;
const leadLength = 40;
/** A match that is longer than a snippet makes it longer, up to this. */
const maxSnippetLength = 400;
const matchesPerTerm = 100;

/** The part of a text that shows the most of the terms, or nothing when one of them is missing. */
export function findSnippet(text: FoldedText, terms: readonly Term[]): Snippet | undefined {
  const matches: Match[] = [];
  for (const [term, { pattern }] of terms.entries()) {
    const found = matchesOf(text, term, pattern);
    if (found.length === 0) return undefined;
    matches.push(...found);
  }
  if (matches.length === 0) return undefined;
  matches.sort((a, b) => a.from - b.from || b.to - a.to);
  return cutAround(text.plain, bestMatch(matches), matches);
}

function matchesOf(text: FoldedText, term: number, pattern: Term["pattern"]): Match[] {
  const matches: Match[] = [];
  for (const found of findPattern(text.folded, pattern)) {
    const [from, to] = text.stretchOf(...found);
    matches.push({ term, from, to });
    if (matches.length === matchesPerTerm) break;
  }
  return matches;
}

/** The earliest match behind which the most different terms follow within a snippet. */
function bestMatch(matches: readonly Match[]): Match {
  let best = matches[0]!;
  let most = 0;
  for (const [index, match] of matches.entries()) {
    const end = match.from + snippetLength - leadLength;
    const terms = new Set<number>();
    for (let at = index; at < matches.length && matches[at]!.to <= end; at += 1) {
      terms.add(matches[at]!.term);
    }
    if (terms.size > most) {
      most = terms.size;
      best = match;
    }
  }
  return best;
}

function cutAround(plain: string, best: Match, matches: readonly Match[]): Snippet {
  const tail = Math.max(0, plain.length - snippetLength);
  const start = startOfWord(plain, Math.max(0, Math.min(best.from - leadLength, tail)), best.from);
  const wanted = Math.min(Math.max(start + snippetLength, best.to), start + maxSnippetLength);
  const end = endOfCharacter(plain, wanted);
  const highlights: [number, number][] = [];
  for (const { from, to } of matches) {
    if (from < start || from >= end) continue;
    // Only the chosen match may be cut: it alone can be longer than any snippet.
    if (to > end && from !== best.from) continue;
    const highlight: [number, number] = [from - start, Math.min(to, end) - start];
    const last = highlights.at(-1);
    if (last !== undefined && highlight[0] <= last[1]) last[1] = Math.max(last[1], highlight[1]);
    else highlights.push(highlight);
  }
  return { snippet: plain.slice(start, end), highlights };
}

/** Behind the next space, if one comes before the match; never inside a character. */
function startOfWord(plain: string, from: number, match: number): number {
  if (from === 0 || plain[from - 1] === " ") return from;
  const space = plain.indexOf(" ", from);
  if (space !== -1 && space < match) return space + 1;
  return isLowSurrogate(plain, from) ? from + 1 : from;
}

function endOfCharacter(plain: string, end: number): number {
  return isLowSurrogate(plain, end) ? end + 1 : Math.min(end, plain.length);
}

function isLowSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit <= 0xdfff;
}
