/**
 * What an index knows of a text: a set of short tokens, in which everything that can be asked leaves its trace.
 * A text that lacks one of a term's tokens cannot match; one that has them all is looked at.
 *
 * | of                     | token        |                                                    |
 * |------------------------|--------------|----------------------------------------------------|
 * | a word of three or more | `abc`        | each three characters in a row                     |
 * | a word of five or more | `^p2x`       | each five in a row, as one of 32,768 buckets       |
 * | a word's beginning     | `_a` `_ab`   | its first character, and its first two             |
 * | a short word           | `_a_` `_is_` | the whole                                          |
 * | two words in a row     | `~c7x`       | one of 16,384 buckets                              |
 * | CJK                    | `東` `東京`   | each character and each two in a row               |
 * | a symbol               | `🎉`         | itself                                             |
 *
 * Texts are folded before.
 */
export type Token = string;

/** Scripts that are written without spaces between words, and Hangul, whose words are as short. */
const cjkScripts = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u30fc`;
export const wordCharacter = String.raw`\p{L}\p{N}\p{M}`;
/** A character of a word that has a beginning and an end. */
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

/** The words, stretches of CJK and symbols of a folded text, in their order. */
export function* piecesOf(folded: string): Generator<Piece> {
  for (const { 0: text, index, groups } of folded.matchAll(pieces)) {
    const kind =
      groups?.["word"] !== undefined ? "word" : groups?.["cjk"] !== undefined ? "cjk" : "symbol";
    yield { kind, text, index };
  }
}

/** Everything that a text can be asked for. */
export function tokensOf(folded: string): Set<Token> {
  const tokens = new Set<Token>();
  let before = "";
  const addWord = (word: string): void => {
    addInnerTokens(tokens, word);
    addPrefixTokens(tokens, word);
    if (isShort(word)) tokens.add(wholeToken(word));
    if (before !== "") tokens.add(pairToken(before, word));
    before = word;
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
      before = "";
    }
  }
  return tokens;
}

/** What is inside of a word, wherever in it one looks. Five in a row say most, so they come first. */
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
  let before = "";
  for (const character of run) {
    tokens.add(character);
    if (before !== "") tokens.add(before + character);
    before = character;
  }
}

/** Too short to have three characters in a row. */
export function isShort(word: string): boolean {
  return charactersOf(word).length < 3;
}

export function wholeToken(word: string): Token {
  return `_${word}_`;
}

const pairBuckets = 16_384;
const fiveBuckets = 32_768;
const pairMark = "~";

/** Phrases of common words would match half of all texts by their words alone. */
export function pairToken(before: string, word: string): Token {
  return `${pairMark}${bucketOf(`${before} ${word}`, pairBuckets)}`;
}

/** Whether a token speaks of two words: of all that a phrase has, the most telling. */
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

/** A plain text is its own list of characters; only one from beyond the basic plane has to be taken apart. */
function charactersOf(word: string): string | readonly string[] {
  return surrogate.test(word) ? Array.from(word) : word;
}

function join(characters: string | readonly string[]): string {
  return typeof characters === "string" ? characters : characters.join("");
}
