/**
 * The tokens that an index stores for a text. Every query that matches the text has only tokens from this set: a text
 * that lacks one of a term's tokens can't match, and one that has them all is checked.
 *
 * | for                      | token        |                                                    |
 * |--------------------------|--------------|----------------------------------------------------|
 * | a word of three or more  | `abc`        | each three characters in a row                     |
 * | a word of five or more   | `^p2x`       | each five in a row, as one of 32,768 buckets       |
 * | the start of a word      | `_a` `_ab`   | its first character, and its first two             |
 * | a short word             | `_a_` `_is_` | the whole word                                     |
 * | two words in a row       | `~c7x`       | one of 16,384 buckets                              |
 * | CJK                      | `東` `東京`   | each character and each two in a row               |
 * | a symbol                 | `🎉`         | itself                                             |
 *
 * Texts must be folded first.
 */
export type Token = string;

/** Scripts written without spaces between words, and Hangul, whose words are as short. */
const cjkScripts = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u30fc`;
export const wordCharacter = String.raw`\p{L}\p{N}\p{M}`;
/** A character of a space-separated word. */
export const spacedCharacter = `[${wordCharacter}]--[${cjkScripts}]`;
const symbolCharacter = String.raw`[[\p{So}\p{Sc}\p{Extended_Pictographic}]--[\0-\x7f]]`;

const pieces = new RegExp(
  `(?<word>[${spacedCharacter}]+)|(?<cjk>[${cjkScripts}]+)|(?<symbol>${symbolCharacter})`,
  "gv",
);
const plainWords = /[a-z0-9]+/g;
const onlyAscii = /^[\0-\x7f]*$/;

export interface Piece {
  readonly kind: "word" | "cjk" | "symbol";
  readonly text: string;
  readonly index: number;
}

/** The words, CJK runs and symbols of a folded text, in order. */
export function* piecesOf(folded: string): Generator<Piece> {
  for (const { 0: text, index, groups } of folded.matchAll(pieces)) {
    const kind =
      groups?.["word"] !== undefined ? "word" : groups?.["cjk"] !== undefined ? "cjk" : "symbol";
    yield { kind, text, index };
  }
}

export function tokensOf(folded: string): Set<Token> {
  const tokens = new Set<Token>();
  let previous = "";
  const addWord = (word: string): void => {
    addInnerTokens(tokens, word);
    addPrefixTokens(tokens, word);
    if (isShort(word)) tokens.add(wholeToken(word));
    if (previous !== "") tokens.add(pairToken(previous, word));
    previous = word;
  };
  if (onlyAscii.test(folded)) {
    for (const [word] of folded.matchAll(plainWords)) addWord(word);
    return tokens;
  }
  for (const { kind, text } of piecesOf(folded)) {
    if (kind === "word") addWord(text);
    else if (kind === "symbol") tokens.add(text);
    else {
      addCjk(tokens, text);
      previous = "";
    }
  }
  return tokens;
}

/** Substrings of a word. Five characters are the most selective, so they come first. */
export function addInnerTokens(tokens: Set<Token>, word: string): void {
  const characters = charactersOf(word);
  for (let index = 0; index + 5 <= characters.length; index += 1) {
    tokens.add(`^${bucketOf(join(characters.slice(index, index + 5)), fiveBuckets)}`);
  }
  for (let index = 0; index + 3 <= characters.length; index += 1) {
    tokens.add(join(characters.slice(index, index + 3)));
  }
}

export function addPrefixTokens(tokens: Set<Token>, word: string): void {
  const characters = charactersOf(word);
  tokens.add(`_${characters[0]}`);
  if (characters.length >= 2) tokens.add(`_${join(characters.slice(0, 2))}`);
}

export function addCjk(tokens: Set<Token>, run: string): void {
  let previous = "";
  for (const character of run) {
    tokens.add(character);
    if (previous !== "") tokens.add(previous + character);
    previous = character;
  }
}

/** Too short for a trigram. */
export function isShort(word: string): boolean {
  return charactersOf(word).length < 3;
}

export function wholeToken(word: string): Token {
  return `_${word}_`;
}

const pairBuckets = 16_384;
const fiveBuckets = 32_768;
const pairMark = "~";

/** Without these, phrases of common words would have half of all texts as candidates. */
export function pairToken(previous: string, word: string): Token {
  return `${pairMark}${bucketOf(`${previous} ${word}`, pairBuckets)}`;
}

/** Pair tokens are a phrase's most selective ones. */
export function isPairToken(token: Token): boolean {
  return token.startsWith(pairMark);
}

function bucketOf(text: string, buckets: number): string {
  let hash = 2_166_136_261;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 16_777_619);
  }
  // The low bits alone are weak: short texts differ in few of them.
  return ((Math.imul(hash ^ (hash >>> 15), 2_246_822_507) >>> 16) % buckets).toString(36);
}

const surrogate = /[\ud800-\udfff]/;

/** A string already is a list of characters, unless it has some beyond the basic plane. */
function charactersOf(word: string): string | readonly string[] {
  return surrogate.test(word) ? Array.from(word) : word;
}

function join(characters: string | readonly string[]): string {
  return typeof characters === "string" ? characters : characters.join("");
}

/** Ranges of combining marks in alphabets that are also read without them. */
const ignoredMarks =
  "0300-036f 0483-0487 0591-05bd 05bf 05c1-05c2 05c4-05c5 05c7 0610-061a 064b-065f 0670 1ab0-1aff 1dc0-1dff 20d0-20f0 fe00-fe0f fe20-fe2f"
    .split(" ")
    .map((range) => range.replaceAll(/[0-9a-f]{4}/g, String.raw`\u$&`));
/** Also drops invisible format characters. */
const ignoredCharacters = new RegExp(String.raw`[${ignoredMarks.join("")}\p{Cf}]`, "gu");
/** They would reverse the rest of a line. Joiners stay: they hold emoji and Persian words together. */
const bidiControls = /[\u00ad\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** Text for a snippet: well formed, on one line, characters composed. */
export function snippetText(text: string): string {
  if (onlyAscii.test(text)) return text.replaceAll(/[\0-\x20\x7f]+/g, " ").trim();
  return text
    .toWellFormed()
    .normalize("NFC")
    .replaceAll(bidiControls, "")
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
}

const foldedCharacters = new Map<string, string>();
/** Far more than all alphabets and the common ideographs, but still a bound. */
const maxCachedCharacters = 50_000;

/** Folds one character for comparison: no case, diacritics, width or ligatures. */
function foldCharacter(character: string): string {
  const cached = foldedCharacters.get(character);
  if (cached !== undefined) return cached;
  const folded = character
    .toLowerCase()
    .normalize("NFKD")
    .replaceAll(ignoredCharacters, "")
    .normalize("NFC")
    .toLowerCase()
    .replaceAll("ς", "σ");
  if (foldedCharacters.size < maxCachedCharacters) foldedCharacters.set(character, folded);
  return folded;
}

/** The form that is indexed and compared. Texts that a reader takes for the same word fold to the same string. */
export function foldText(plain: string): string {
  if (onlyAscii.test(plain)) return plain.toLowerCase();
  let folded = "";
  for (const character of plain) folded += foldCharacter(character);
  return folded;
}

export interface FoldedText {
  readonly plain: string;
  readonly folded: string;
  /** The part of `plain` that a part of `folded` comes from: whole characters with their marks. */
  plainRange(from: number, to: number): readonly [number, number];
}

/** A text, its folded form, and the mapping back for highlights. */
export function foldWithOrigins(plain: string): FoldedText {
  if (onlyAscii.test(plain)) {
    return { plain, folded: plain.toLowerCase(), plainRange: (from, to) => [from, to] };
  }
  const folded = foldText(plain);
  let origins: Uint32Array | undefined;
  return {
    plain,
    folded,
    plainRange(from, to) {
      // Most candidates don't match and never need the mapping.
      origins ??= originsOf(plain, folded.length);
      const last = origins[to - 1];
      let end = to;
      // A ligature that is matched in part is highlighted as a whole.
      while (end < folded.length && origins[end] === last) end += 1;
      return [origins[from] ?? plain.length, origins[end] ?? plain.length];
    },
  };
}

/** For each code unit of the folded text, the start of the character it comes from. */
function originsOf(plain: string, length: number): Uint32Array {
  const origins = new Uint32Array(length + 1);
  let unit = 0;
  let start = 0;
  for (const character of plain) {
    for (const end = unit + foldCharacter(character).length; unit < end; unit += 1) {
      origins[unit] = start;
    }
    start += character.length;
  }
  origins[length] = plain.length;
  return origins;
}
