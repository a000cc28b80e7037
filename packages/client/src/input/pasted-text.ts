import type { QuotedRanges } from "@holdfast/protocol";

/** Shorter pastes are mostly not a stranger's text: a name, an address, a path. */
const minLength = 40;
const maxPastes = 50;

export function isWorthMarking(text: string): boolean {
  return text.length >= minLength || text.trim().includes("\n");
}

/** Which stretches of a message were pasted and not changed since, so that memory keeps nothing of them. */
export function findPasted(text: string, pasted: readonly string[]): QuotedRanges {
  const ranges: [number, number][] = [];
  for (const paste of new Set(pasted.slice(-maxPastes))) {
    for (let at = text.indexOf(paste); at !== -1; at = text.indexOf(paste, at + paste.length))
      ranges.push([at, at + paste.length]);
  }
  return ranges.slice(0, 100);
}

const longLength = 4_000;
const longLines = 60;

/** Whether a paste is long enough to be attached, or folded where it is shown. */
export function isLongPaste(text: string): boolean {
  return text.length > longLength || text.split("\n", longLines + 1).length > longLines;
}

/** What a long paste is called as a file, by its content. */
export function pasteName(
  text: string,
  number: number,
): { readonly name: string; readonly mediaType: string } {
  const stem = number === 1 ? "pasted-text" : `pasted-text-${number}`;
  return isJsonText(text)
    ? { name: `${stem}.json`, mediaType: "application/json" }
    : { name: `${stem}.txt`, mediaType: "text/plain" };
}

function isJsonText(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
