import {
  spacedCharacter,
  wordCharacter,
  addPrefixTokens,
  addCjk,
  addInnerTokens,
  isShort,
  pairToken,
  type Piece,
  piecesOf,
  type Token,
  wholeToken,
  foldText,
  snippetText,
  type FoldedText,
} from "./tokens.ts";

/** What a term looks like in a folded text: literals in a row, with no word character between them. */
export interface Pattern {
  /** At least one. */
  readonly literals: readonly string[];
  /** No word continues before the first literal or after the last one. */
  readonly begins: boolean;
  readonly ends: boolean;
}

const endsInWord = new RegExp(`[${spacedCharacter}]$`, "v");
const beginsWithWord = new RegExp(`^[${spacedCharacter}]`, "v");
const punctuation = new RegExp(`[^${wordCharacter}]*`, "vy");

/** Yields the term's matches without overlaps. User input never becomes a regular expression. */
function* findPattern(folded: string, pattern: Pattern): Generator<[number, number]> {
  const [first] = pattern.literals;
  if (first === undefined || first === "") return;
  for (let from = folded.indexOf(first); from !== -1;) {
    const to =
      pattern.begins && isWordBefore(folded, from) ? -1 : endOfMatch(folded, from, pattern);
    if (to !== -1) yield [from, to];
    from = folded.indexOf(first, to === -1 ? from + 1 : to);
  }
}

function endOfMatch(folded: string, from: number, { literals, ends }: Pattern): number {
  let to = from + literals[0]!.length;
  for (const literal of literals.slice(1)) {
    const next = skipPunctuation(folded, to);
    // CJK may touch a word, but two words are always separated.
    if (!folded.startsWith(literal, next)) return -1;
    if (next === to && isWordBefore(folded, next) && beginsWithWord.test(literal)) return -1;
    to = next + literal.length;
  }
  return ends && isWordAt(folded, to) ? -1 : to;
}

function skipPunctuation(folded: string, from: number): number {
  punctuation.lastIndex = from;
  punctuation.test(folded);
  return punctuation.lastIndex;
}

function isWordBefore(folded: string, index: number): boolean {
  const isAscii = isAsciiWord(folded.charCodeAt(index - 1));
  return isAscii ?? endsInWord.test(folded.slice(Math.max(0, index - 2), index));
}

function isWordAt(folded: string, index: number): boolean {
  return (
    isAsciiWord(folded.charCodeAt(index)) ?? beginsWithWord.test(folded.slice(index, index + 2))
  );
}

/** `undefined` beyond ASCII; the end of the text isn't a word character. */
function isAsciiWord(unit: number): boolean | undefined {
  if (Number.isNaN(unit)) return false;
  if (unit >= 0x80) return undefined;
  return (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x30 && unit <= 0x39);
}

/** Whether a text starts and ends with a character of a space-separated word. */
function edgesOf(literal: string): { readonly begins: boolean; readonly ends: boolean } {
  return { begins: beginsWithWord.test(literal), ends: endsInWord.test(literal) };
}

/** One thing that a text must contain. */
export interface Term {
  readonly pattern: Pattern;
  /** At least one. A text that lacks one of these can't match. */
  readonly tokens: readonly Token[];
}

const maxQueryLength = 4_096;

/**
 * Words, parts of words, `"phrases"` and `prefixes*`, all of which must match. Every text is a valid query: what
 * can't be searched for (a lone quote, bare punctuation) is ignored. No terms match nothing.
 */
export function parseTerms(text: string): readonly Term[] {
  const query = snippetText(text.slice(0, maxQueryLength));
  const terms = new Map<string, Term>();
  for (const [, phrase, bare] of query.matchAll(/"([^"]*)"?|([^\s"]+)/gu)) {
    const term = phrase === undefined ? bareTerm(foldText(bare ?? "")) : phraseTerm(phrase);
    if (term !== undefined) terms.set(JSON.stringify(term.pattern), term);
  }
  return [...terms.values()];
}

/** The words of a phrase follow each other, whatever punctuation is between them. */
function phraseTerm(phrase: string): Term | undefined {
  const folded = foldText(phrase);
  const pieces = [...piecesOf(folded)];
  if (pieces.length === 0) return undefined;
  const words = pieces.filter(({ kind }) => kind !== "symbol");
  const tokens = new Set<Token>();
  for (const [index, piece] of (words.length === 0 ? pieces : words).entries()) {
    const previous = words[index - 1];
    addWholeTokens(tokens, piece);
    if (previous?.kind === "word" && piece.kind === "word")
      tokens.add(pairToken(previous.text, piece.text));
  }
  const literals = words.length === 0 ? [folded] : words.map(({ text }) => text);
  const { begins } = edgesOf(literals[0]!);
  const { ends } = edgesOf(literals.at(-1)!);
  return { pattern: { literals, begins, ends }, tokens: [...tokens] };
}

function bareTerm(folded: string): Term | undefined {
  const prefix = /^(.*?)\*+$/v.exec(folded)?.[1];
  const literal = prefix ?? folded;
  const pieces = [...piecesOf(literal)];
  const last = pieces.at(-1);
  if (last === undefined) return undefined;
  const isOpenEnded = last.kind === "word" && last.index + last.text.length === literal.length;
  if (prefix !== undefined && isOpenEnded) return prefixTerm(literal, pieces, last);
  const inner = insideTokens(literal, pieces);
  if (inner.size > 0)
    return { pattern: { literals: [literal], begins: false, ends: false }, tokens: [...inner] };
  // Too short to be found inside words, so it must be a word of its own.
  const tokens = new Set<Token>();
  for (const piece of pieces) addWholeTokens(tokens, piece);
  return { pattern: { literals: [literal], ...edgesOf(literal) }, tokens: [...tokens] };
}

/** Only the last word is open-ended; those before it are whole words. */
function prefixTerm(literal: string, pieces: readonly Piece[], last: Piece): Term {
  const tokens = new Set<Token>();
  for (const piece of pieces) if (piece !== last) addWholeTokens(tokens, piece);
  addInnerTokens(tokens, last.text);
  addPrefixTokens(tokens, last.text);
  const { begins } = edgesOf(literal);
  return { pattern: { literals: [literal], begins, ends: false }, tokens: [...tokens] };
}

/**
 * The tokens of every text that contains this literal anywhere, even inside words: its first and last word may be
 * parts of longer ones.
 */
function insideTokens(literal: string, pieces: readonly Piece[]): Set<Token> {
  const tokens = new Set<Token>();
  for (const piece of pieces) {
    const begins = piece.index > 0;
    const ends = piece.index + piece.text.length < literal.length;
    if (piece.kind !== "word") addWholeTokens(tokens, piece);
    else if (begins && ends) addWholeTokens(tokens, piece);
    else {
      addInnerTokens(tokens, piece.text);
      if (begins) addPrefixTokens(tokens, piece.text);
    }
  }
  return tokens;
}

/** The tokens of every text that contains this piece with no word character on either side. */
function addWholeTokens(tokens: Set<Token>, { kind, text }: Piece): void {
  if (kind === "cjk") addCjk(tokens, text);
  else if (kind === "symbol") tokens.add(text);
  else {
    addInnerTokens(tokens, text);
    addPrefixTokens(tokens, text);
    if (isShort(text)) tokens.add(wholeToken(text));
  }
}

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
/** A match longer than a snippet extends it up to this length. */
const maxSnippetLength = 400;
const maxMatchesPerTerm = 100;

/** The part of a text that shows the most terms, or `undefined` if one of them is missing. */
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
    const [from, to] = text.plainRange(...found);
    matches.push({ term, from, to });
    if (matches.length === maxMatchesPerTerm) break;
  }
  return matches;
}

/** The earliest match with the most different terms within a snippet's length after it. */
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
  const wantedEnd = Math.min(Math.max(start + snippetLength, best.to), start + maxSnippetLength);
  const end = endOfCharacter(plain, wantedEnd);
  const highlights: [number, number][] = [];
  for (const { from, to } of matches) {
    if (from < start || from >= end) continue;
    // Only the best match may be cut off: no other can be longer than a snippet.
    if (to > end && from !== best.from) continue;
    const highlight: [number, number] = [from - start, Math.min(to, end) - start];
    const last = highlights.at(-1);
    if (last !== undefined && highlight[0] <= last[1]) last[1] = Math.max(last[1], highlight[1]);
    else highlights.push(highlight);
  }
  return { snippet: plain.slice(start, end), highlights };
}

/** After the next space, if there is one before the match; never inside a character. */
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
