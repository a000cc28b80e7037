import { foldText, snippetText } from "./fold.ts";
import { edgesOf, type Pattern } from "./query.ts";
import {
  addPrefixTokens,
  addCjk,
  addInnerTokens,
  isShort,
  pairToken,
  type Piece,
  piecesOf,
  type Token,
  wholeToken,
} from "./tokens.ts";

/** One thing that a text must contain. */
export interface Term {
  readonly pattern: Pattern;
  /** At least one. A text without one of these does not contain it. */
  readonly tokens: readonly Token[];
}

const maxQueryLength = 4_096;

/**
 * Words and parts of words, `"phrases"` and `prefixes*`, all of which have to be found. Every text is a valid query: what
 * cannot be asked for (a lone quote, punctuation by itself) is left out. No terms find nothing.
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

/** The words of a phrase stand one after another, whatever signs are between them. */
function phraseTerm(phrase: string): Term | undefined {
  const folded = foldText(phrase);
  const pieces = [...piecesOf(folded)];
  if (pieces.length === 0) return undefined;
  const words = pieces.filter(({ kind }) => kind !== "symbol");
  const tokens = new Set<Token>();
  for (const [index, piece] of (words.length === 0 ? pieces : words).entries()) {
    const before = words[index - 1];
    addClosed(tokens, piece);
    if (before?.kind === "word" && piece.kind === "word")
      tokens.add(pairToken(before.text, piece.text));
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
  const open = last.kind === "word" && last.index + last.text.length === literal.length;
  if (prefix !== undefined && open) return prefixTerm(literal, pieces, last);
  const found = insideTokens(literal, pieces);
  if (found.size > 0)
    return { pattern: { literals: [literal], begins: false, ends: false }, tokens: [...found] };
  // Too short to be looked for inside words: then it is a word of its own.
  const tokens = new Set<Token>();
  for (const piece of pieces) addClosed(tokens, piece);
  return { pattern: { literals: [literal], ...edgesOf(literal) }, tokens: [...tokens] };
}

/** Only the last word is open at its end; what stands before it are whole words. */
function prefixTerm(literal: string, pieces: readonly Piece[], last: Piece): Term {
  const tokens = new Set<Token>();
  for (const piece of pieces) if (piece !== last) addClosed(tokens, piece);
  addInnerTokens(tokens, last.text);
  addPrefixTokens(tokens, last.text);
  const { begins } = edgesOf(literal);
  return { pattern: { literals: [literal], begins, ends: false }, tokens: [...tokens] };
}

/**
 * What a text has that contains this literal anywhere, also inside words: the first and the last word may be parts of
 * longer ones.
 */
function insideTokens(literal: string, pieces: readonly Piece[]): Set<Token> {
  const tokens = new Set<Token>();
  for (const piece of pieces) {
    const begins = piece.index > 0;
    const ends = piece.index + piece.text.length < literal.length;
    if (piece.kind !== "word") addClosed(tokens, piece);
    else if (begins && ends) addClosed(tokens, piece);
    else {
      addInnerTokens(tokens, piece.text);
      if (begins) addPrefixTokens(tokens, piece.text);
    }
  }
  return tokens;
}

/** What a text has that contains this piece with nothing of a word on either side. */
function addClosed(tokens: Set<Token>, { kind, text }: Piece): void {
  if (kind === "cjk") addCjk(tokens, text);
  else if (kind === "symbol") tokens.add(text);
  else {
    addInnerTokens(tokens, text);
    addPrefixTokens(tokens, text);
    if (isShort(text)) tokens.add(wholeToken(text));
  }
}
