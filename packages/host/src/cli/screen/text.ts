/**
 * Makes text from a model, a tool or a person safe to show: terminals obey escape sequences, and direction marks
 * make one thing look like another. Each character is handled alone, so a sequence split into chunks is harmless too.
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
