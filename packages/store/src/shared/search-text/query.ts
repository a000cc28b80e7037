import { spacedCharacter, wordCharacter } from "./tokens.ts";

/** What a term looks like in a folded text: literals one after another, with nothing of a word between them. */
export interface Pattern {
  /** At least one. */
  readonly literals: readonly string[];
  /** No word goes on before the first literal, or behind the last one. */
  readonly begins: boolean;
  readonly ends: boolean;
}

const endsInWord = new RegExp(`[${spacedCharacter}]$`, "v");
const beginsWithWord = new RegExp(`^[${spacedCharacter}]`, "v");
const punctuation = new RegExp(`[^${wordCharacter}]*`, "vy");

/** Where the term stands, from and to, without overlaps. No regular expression is made from what a person typed. */
export function* findPattern(folded: string, pattern: Pattern): Generator<[number, number]> {
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
    // Between CJK and a word there may be nothing at all; between two words there is something.
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
  const quick = isAsciiWord(folded.charCodeAt(index - 1));
  return quick ?? endsInWord.test(folded.slice(Math.max(0, index - 2), index));
}

function isWordAt(folded: string, index: number): boolean {
  return (
    isAsciiWord(folded.charCodeAt(index)) ?? beginsWithWord.test(folded.slice(index, index + 2))
  );
}

/** Not known for what is not ASCII; nothing, at either end, is no word. */
function isAsciiWord(unit: number): boolean | undefined {
  if (Number.isNaN(unit)) return false;
  if (unit >= 0x80) return undefined;
  return (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x30 && unit <= 0x39);
}

/** Whether a text begins, or ends, with a character of a word that has a beginning and an end. */
export function edgesOf(literal: string): { readonly begins: boolean; readonly ends: boolean } {
  return { begins: beginsWithWord.test(literal), ends: endsInWord.test(literal) };
}
