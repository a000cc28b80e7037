/** Combining marks of alphabets that are also read without them, from and to. */
const ignoredMarks =
  "0300-036f 0483-0487 0591-05bd 05bf 05c1-05c2 05c4-05c5 05c7 0610-061a 064b-065f 0670 1ab0-1aff 1dc0-1dff 20d0-20f0 fe00-fe0f fe20-fe2f"
    .split(" ")
    .map((range) => range.replaceAll(/[0-9a-f]{4}/g, String.raw`\u$&`));
/** With them goes what shows nothing at all. */
const ignoredCharacters = new RegExp(String.raw`[${ignoredMarks.join("")}\p{Cf}]`, "gu");
const onlyAscii = /^[\0-\x7f]*$/;
/** They would turn the rest of a line around. Joiners stay: they hold emoji and Persian words together. */
const bidiControls = /[\u00ad\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** A text as a snippet shows it: well formed, on one line, its characters composed. */
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
/** Far more than the alphabets and the usual ideographs together; a bound all the same. */
const maxCachedCharacters = 50_000;

/** One character as it is compared: without case, diacritics, width and ligature. */
function foldCharacter(character: string): string {
  const known = foldedCharacters.get(character);
  if (known !== undefined) return known;
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

/** What is indexed and compared. Two texts that a reader takes for the same word are equal. */
export function foldText(plain: string): string {
  if (onlyAscii.test(plain)) return plain.toLowerCase();
  let folded = "";
  for (const character of plain) folded += foldCharacter(character);
  return folded;
}

export interface FoldedText {
  readonly plain: string;
  readonly folded: string;
  /** Where in `plain` a stretch of `folded` stands: whole characters, with the marks that belong to them. */
  stretchOf(from: number, to: number): readonly [number, number];
}

/** A text with its folded form and the way back, for highlights. */
export function foldWithOrigins(plain: string): FoldedText {
  if (onlyAscii.test(plain)) {
    return { plain, folded: plain.toLowerCase(), stretchOf: (from, to) => [from, to] };
  }
  const folded = foldText(plain);
  let origins: Uint32Array | undefined;
  return {
    plain,
    folded,
    stretchOf(from, to) {
      // Most texts that are looked at do not match, and never need the way back.
      origins ??= originsOf(plain, folded.length);
      const last = origins[to - 1];
      let end = to;
      // A ligature that is matched in part is highlighted whole.
      while (end < folded.length && origins[end] === last) end += 1;
      return [origins[from] ?? plain.length, origins[end] ?? plain.length];
    },
  };
}

/** For each unit of the folded text, where the character begins that it comes from. */
function originsOf(plain: string, length: number): Uint32Array {
  const origins = new Uint32Array(length + 1);
  let unit = 0;
  let place = 0;
  for (const character of plain) {
    for (const end = unit + foldCharacter(character).length; unit < end; unit += 1) {
      origins[unit] = place;
    }
    place += character.length;
  }
  origins[length] = plain.length;
  return origins;
}
