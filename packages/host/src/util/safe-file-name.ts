const maxLength = 100;
/** Folders allow 255, and a suffix may be added for uniqueness. */
const maxBytes = 200;

/** Makes an arbitrary file name safe in a folder, in a line of text and in a command. */
export function safeFileName(name: string): string {
  const [last = ""] = name.normalize("NFC").toWellFormed().split(/[/\\]/).slice(-1);
  const plain = last
    .replaceAll(/[^\p{L}\p{N}\p{M}._ ()+-]/gu, "_")
    .replaceAll(/\s+/g, " ")
    .replace(/^[.\s-]+/, "")
    .replace(/[.\s]+$/, "");
  const extension = /\.[\p{L}\p{N}]{1,10}$/u.exec(plain)?.[0] ?? "";
  const stem = plain.slice(0, plain.length - extension.length);
  // Drop a surrogate that would be cut in half.
  const shortened = stem.slice(0, maxLength - extension.length).replace(/[\uD800-\uDBFF]$/, "");
  return `${withinBytes(shortened, maxBytes - Buffer.byteLength(extension)) || "file"}${extension}`;
}

function withinBytes(text: string, maxByteLength: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxByteLength));
  return text.slice(0, read);
}
