import { plainText } from "@holdfast/engine";

/** A text as it is shown: well formed, on one line, its characters composed. */
export function snippetText(text: string): string {
  return plainText(text).normalize("NFC");
}

const ascii = /^[\0-\x7f]*$/;

/** A text as it is compared: without case, wide forms or ligatures. */
export function foldText(text: string): string {
  return ascii.test(text) ? text.toLowerCase() : Array.from(text, foldCharacter).join("");
}

/** Character by character, so that each place in the folded text has its place in the other. */
function foldCharacter(character: string): string {
  return character.normalize("NFKC").toLowerCase();
}

/** A text folded, with the way back to what is shown. */
export interface FoldedText {
  readonly plain: string;
  readonly folded: string;
  /** The stretch of the plain text that a stretch of the folded one comes from. */
  stretchOf(from: number, to: number): readonly [number, number];
}

export function foldWithOrigins(plain: string): FoldedText {
  const folded = foldText(plain);
  if (ascii.test(plain)) return { plain, folded, stretchOf: (from, to) => [from, to] };
  /** For each unit of the folded text, where its character begins; and for each, where it ends. */
  const begins: number[] = [];
  const ends: number[] = [];
  let place = 0;
  for (const character of plain) {
    const { length } = foldCharacter(character);
    for (let unit = 0; unit < length; unit += 1) {
      begins.push(place);
      ends.push(place + character.length);
    }
    place += character.length;
  }
  return {
    plain,
    folded,
    stretchOf: (from, to) => [begins[from] ?? place, ends[to - 1] ?? place],
  };
}
