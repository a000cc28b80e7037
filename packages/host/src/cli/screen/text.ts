/**
 * What a model, a tool or a stranger wrote is shown as text and never obeyed: a terminal takes escape sequences for
 * commands, and marks that turn the writing direction make one thing look like another. Each character is judged
 * alone, so a sequence that arrives in pieces is none either.
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

function visibleCharacter(mark: string): string {
  const code = mark.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "␡";
  return `<${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}

/** JSON for a terminal or a pipe that ends in one: what `JSON.stringify` leaves as it is, escaped. */
export function cleanJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(unsafeCharacters, (mark) =>
    Array.from({ length: mark.length }, (_, at) => {
      const unit = mark.charCodeAt(at).toString(16).padStart(4, "0");
      return `\\u${unit}`;
    }).join(""),
  );
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Ideographs, kana, hangul and their punctuation, and the forms that are made to stand beside them. */
const wide =
  /^[\u1100-\u115f\u231a\u231b\u2329\u232a\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const emoji = /\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f|[0-9#*]\ufe0f?\u20e3/u;
const invisible = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]+$/u;
const plain = /^[\x20-\x7e]*$/;

/** How many columns a grapheme takes: a letter with its combining marks is one, an ideograph or an emoji two. */
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

/** As much of the text as fits, and never half a character; what is missing is shown as `…`. */
export function fitTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = "";
  let width = 0;
  for (const each of splitGraphemes(text)) {
    const next = width + graphemeColumns(each);
    if (next > columns - 1) break;
    width = next;
    kept += each;
  }
  return columns < 1 ? "" : `${kept}…`;
}

/** The same from the other side: as much of the end as fits. */
export function fitEndTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = "";
  let width = 1;
  for (const each of splitGraphemes(text).toReversed()) {
    width += graphemeColumns(each);
    if (width > columns) break;
    kept = each + kept;
  }
  return columns < 1 ? "" : `…${kept}`;
}

export function padTo(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - widthOf(text)));
}
