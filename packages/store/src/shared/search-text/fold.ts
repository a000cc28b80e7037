/** Ranges of combining marks in alphabets that are also read without them. */
const ignoredMarks =
  "0300-036f 0483-0487 0591-05bd 05bf 05c1-05c2 05c4-05c5 05c7 0610-061a 064b-065f 0670 1ab0-1aff 1dc0-1dff 20d0-20f0 fe00-fe0f fe20-fe2f"
    .split(" ")
    .map((range) => range.replaceAll(/[0-9a-f]{4}/g, String.raw`\u$&`));
/** Also drops invisible format characters. */
const ignoredCharacters = new RegExp(String.raw`[${ignoredMarks.join("")}\p{Cf}]`, "gu");
const onlyAscii = /^[\0-\x7f]*$/;
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
