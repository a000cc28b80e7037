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
