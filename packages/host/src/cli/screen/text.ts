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
