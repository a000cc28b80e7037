const maxLines = 20_000;
const shownLines = 8;
const longestLine = 300;

/**
 * Where a text that is not in a file would most likely be: the lines around the one that is most like its first line with
 * something in it. `null` when nothing is like it.
 */
export function nearestLines(text: string, wanted: string): string | null {
  const first = wanted.split("\n").find((line) => line.trim() !== "");
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
  return shown.map((line, n) => `${from + n + 1}\t${line.slice(0, longestLine)}`).join("\n");
}

/** The pairs of neighbouring characters of a line, whatever its spaces are. */
function pairsOf(line: string): ReadonlySet<string> {
  const plain = line.slice(0, longestLine).replace(/\s+/g, " ").trim();
  const pairs = new Set<string>();
  for (let at = 0; at + 1 < plain.length; at += 1) pairs.add(plain.slice(at, at + 2));
  return pairs;
}

/** The share of pairs that both have (Dice). */
function similarity(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size + other.size === 0) return 0;
  let both = 0;
  for (const pair of other) if (one.has(pair)) both += 1;
  return (2 * both) / (one.size + other.size);
}
