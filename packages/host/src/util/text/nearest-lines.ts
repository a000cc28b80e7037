const maxLines = 20_000;
const shownLines = 8;
const maxLineLength = 300;

/**
 * Where a missing text would most likely be: the lines around the one most similar to its first non-empty line. `null`
 * if nothing is similar.
 */
export function nearestLines(text: string, missing: string): string | null {
  const first = missing.split("\n").find((line) => line.trim() !== "");
  if (first === undefined) return null;
  const pairs = pairsOf(first);
  let best = { at: -1, score: 0.4 };
  const lines = text.split("\n", maxLines);
  for (const [at, line] of lines.entries()) {
    const score = similarity(pairs, pairsOf(line));
    if (score > best.score) best = { at, score };
    if (score === 1) break;
  }
  if (best.at === -1) return null;
  const from = Math.max(0, best.at - 2);
  const shown = lines.slice(from, from + shownLines);
  return shown.map((line, n) => `${from + n + 1}\t${line.slice(0, maxLineLength)}`).join("\n");
}

/** A line's character pairs, ignoring whitespace. */
function pairsOf(line: string): ReadonlySet<string> {
  const plain = line.slice(0, maxLineLength).replace(/\s+/g, " ").trim();
  const pairs = new Set<string>();
  for (let at = 0; at + 1 < plain.length; at += 1) pairs.add(plain.slice(at, at + 2));
  return pairs;
}

/** The Dice coefficient. */
function similarity(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size + b.size === 0) return 0;
  let both = 0;
  for (const pair of b) if (a.has(pair)) both += 1;
  return (2 * both) / (a.size + b.size);
}
