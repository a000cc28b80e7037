import { foldText, snippetText } from "./search-text.ts";
import {
  addBeginning,
  addCjk,
  addInnards,
  isShort,
  pairToken,
  type Piece,
  piecesOf,
  spacedCharacter,
  type Token,
  wholeToken,
  wordCharacter,
} from "./search-text-tokens.ts";

/** One thing that a text must contain. */
export interface Term {
  /** Finds it in a folded text. Global: who uses it says where it begins. */
  readonly pattern: RegExp;
  /** At least one. A text without one of these does not contain it. */
  readonly tokens: readonly Token[];
}

const maxQueryLength = 4_096;
const wordStart = `(?<![${spacedCharacter}])`;
const wordEnd = `(?![${spacedCharacter}])`;
const endsInWord = new RegExp(`[${spacedCharacter}]$`, "v");
const beginsWithWord = new RegExp(`^[${spacedCharacter}]`, "v");

/**
 * Words and parts of words, `"phrases"` and `prefixes*`, all of which have to be found. Every text is a valid query: what
 * cannot be asked for (a lone quote, punctuation by itself) is left out. No terms find nothing.
 */
export function parseTerms(text: string): readonly Term[] {
  const query = snippetText(text.slice(0, maxQueryLength));
  const terms = new Map<string, Term>();
  for (const [, phrase, bare] of query.matchAll(/"([^"]*)"?|([^\s"]+)/gu)) {
    const term = phrase === undefined ? bareTerm(foldText(bare ?? "")) : phraseTerm(phrase);
    if (term !== undefined) terms.set(term.pattern.source, term);
  }
  return [...terms.values()];
}

/** The words of a phrase stand one after another, whatever signs are between them. */
function phraseTerm(phrase: string): Term | undefined {
  const pieces = [...piecesOf(foldText(phrase))];
  const [first] = pieces;
  const last = pieces.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const tokens = new Set<Token>();
  let source = "";
  for (const [index, piece] of pieces.entries()) {
    const before = pieces[index - 1];
    const apart = before?.kind === "word" && piece.kind === "word";
    if (before !== undefined) source += `[^${wordCharacter}]${apart ? "+" : "*"}`;
    source += escape(piece.text);
    addClosed(tokens, piece);
    if (apart) tokens.add(pairToken(before.text, piece.text));
  }
  return { pattern: bounded(source, first.text, last.text), tokens: [...tokens] };
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
  if (found.size > 0) return { pattern: anywhere(literal), tokens: [...found] };
  // Too short to be looked for inside words: then it is a word of its own.
  const tokens = new Set<Token>();
  for (const piece of pieces) addClosed(tokens, piece);
  return { pattern: bounded(escape(literal), literal, literal), tokens: [...tokens] };
}

/** Only the last word is open at its end; what stands before it are whole words. */
function prefixTerm(literal: string, pieces: readonly Piece[], last: Piece): Term {
  const tokens = new Set<Token>();
  for (const piece of pieces) if (piece !== last) addClosed(tokens, piece);
  addInnards(tokens, last.text);
  addBeginning(tokens, last.text);
  const start = beginsWithWord.test(literal) ? wordStart : "";
  return { pattern: new RegExp(start + escape(literal), "gv"), tokens: [...tokens] };
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
      addInnards(tokens, piece.text);
      if (begins) addBeginning(tokens, piece.text);
    }
  }
  return tokens;
}

/** What a text has that contains this piece with nothing of a word on either side. */
function addClosed(tokens: Set<Token>, { kind, text }: Piece): void {
  if (kind === "cjk") addCjk(tokens, text);
  else if (kind === "symbol") tokens.add(text);
  else {
    addInnards(tokens, text);
    addBeginning(tokens, text);
    if (isShort(text)) tokens.add(wholeToken(text));
  }
}

function anywhere(literal: string): RegExp {
  return new RegExp(escape(literal), "gv");
}

function bounded(source: string, first: string, last: string): RegExp {
  const start = beginsWithWord.test(first) ? wordStart : "";
  const end = endsInWord.test(last) ? wordEnd : "";
  return new RegExp(start + source + end, "gv");
}

function escape(literal: string): string {
  return literal.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, String.raw`\$&`);
}
