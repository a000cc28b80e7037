const longestName = 100;
/** A folder takes 255, and what stands beside it gets a number. */
const maxBytes = 200;

/** A name that somebody gave to a file, as one that is safe in a folder, in a line of text and in a command. */
export function safeFileName(given: string): string {
  const [last = ""] = given.normalize("NFC").toWellFormed().split(/[/\\]/).slice(-1);
  const plain = last
    .replaceAll(/[^\p{L}\p{N}\p{M}._ ()+-]/gu, "_")
    .replaceAll(/\s+/g, " ")
    .replace(/^[.\s-]+/, "")
    .replace(/[.\s]+$/, "");
  const ending = /\.[\p{L}\p{N}]{1,10}$/u.exec(plain)?.[0] ?? "";
  const stem = plain.slice(0, plain.length - ending.length);
  // A character that would be cut in half is left out.
  const short = stem.slice(0, longestName - ending.length).replace(/[\uD800-\uDBFF]$/, "");
  return `${withinBytes(short, maxBytes - Buffer.byteLength(ending)) || "file"}${ending}`;
}

function withinBytes(text: string, most: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(most));
  return text.slice(0, read);
}
