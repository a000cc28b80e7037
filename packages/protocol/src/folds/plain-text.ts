const maxPreviewLength = 200;
const maxTitleLength = 120;

/** Everything but a single plain space between words, which is the common case and stays unchanged. */
const controlCharacters = /(?! [^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu;

/** Text for a row: well formed, on one line, without characters that break a database or a terminal. */
export function plainText(text: string): string {
  return text.toWellFormed().replaceAll(controlCharacters, " ").trim();
}

/** A name for a column, preserved as far as every database can store it. */
export function columnText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

export function previewOf(text: string): string {
  // Cut before cleaning: a message may have megabytes.
  return truncate(plainText(text.slice(0, maxPreviewLength * 8)), maxPreviewLength);
}

export function titleFrom(text: string): string {
  const start = text.slice(0, maxTitleLength * 8).trimStart();
  return truncate(plainText(start.split("\n", 1)[0] ?? ""), maxTitleLength);
}

/** Cuts between characters, never inside a surrogate pair. */
function truncate(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = /[\uD800-\uDBFF]/.test(text[length - 2] ?? "") ? length - 2 : length - 1;
  return `${text.slice(0, end).trimEnd()}…`;
}
