/**
 * Makes text of a model, a tool or a stranger safe to show: terminals obey escape sequences, and direction marks
 * make one thing look like another. Each character is judged alone, so that a sequence split into chunks is
 * harmless, too.
 */
export function cleanText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(unsafeCharacters, visibleCharacter);
}

/** The same, on one line. */
export function cleanLine(text: string): string {
  return cleanText(text).replaceAll(/[\n\t]+/g, " ");
}

/** All controls but line feed and tab; bidirectional marks; invisible tags; separators that some terminals obey. */
const unsafeCharacters =
  // oxlint-disable-next-line no-control-regex -- these are what it is about
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

function visibleCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "␡";
  return `<${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}

/** JSON for a terminal or a pipe that ends in one: also escapes what `JSON.stringify` leaves as it is. */
export function cleanJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(unsafeCharacters, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      const unit = character.charCodeAt(index).toString(16).padStart(4, "0");
      return `\\u${unit}`;
    }).join(""),
  );
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Ideographs, kana, hangul and their punctuation, and full-width forms. */
const wide =
  /^[\u1100-\u115f\u231a\u231b\u2329\u232a\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const emoji = /\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f|[0-9#*]\ufe0f?\u20e3/u;
const invisible = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]+$/u;
const plain = /^[\x20-\x7e]*$/;

/** Columns of a grapheme: a letter with its combining marks takes one, an ideograph or an emoji two. */
function graphemeColumns(grapheme: string): number {
  if (invisible.test(grapheme)) return 0;
  return wide.test(grapheme) || emoji.test(grapheme) ? 2 : 1;
}

export function splitGraphemes(text: string): string[] {
  if (plain.test(text)) return Array.from(text);
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}

export function widthOf(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeColumns(segment);
  return width;
}

/** Truncates text to the columns without splitting a grapheme; `…` marks the cut. */
export function fitTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let fitted = "";
  let width = 0;
  for (const grapheme of splitGraphemes(text)) {
    const next = width + graphemeColumns(grapheme);
    if (next > columns - 1) break;
    width = next;
    fitted += grapheme;
  }
  return columns < 1 ? "" : `${fitted}…`;
}

/** The same, keeping the end. */
export function fitEndTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let fitted = "";
  let width = 1;
  for (const grapheme of splitGraphemes(text).toReversed()) {
    width += graphemeColumns(grapheme);
    if (width > columns) break;
    fitted = grapheme + fitted;
  }
  return columns < 1 ? "" : `…${fitted}`;
}

export function padTo(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - widthOf(text)));
}
