import { structuredPatch } from "diff";

/** More changes than this are shown as one block: nobody reads them line by line. */
const maxChanges = 400;
const contextLines = 3;

/**
 * A unified diff of two texts without the file header; empty if they are equal. Beyond `maxLength` characters it
 * is cut after a whole line, and a last line says so.
 */
export function unifiedDiff(before: string, after: string, maxLength = 8_000): string {
  const out: string[] = [];
  let room = maxLength;
  for (const line of diffLines(before, after)) {
    room -= line.length + 1;
    if (room < 0) return [...out, "[the rest of the diff is left out]"].join("\n");
    out.push(line);
  }
  return out.join("\n");
}

/** The library is slow on long texts, so it gets only the lines that differ and their context. */
function diffLines(before: string, after: string): readonly string[] {
  if (before === after) return [];
  const changed = changedRange(before, after);
  const from = linesBefore(before, changed.from, contextLines);
  const tail = before.slice(changed.to, linesAfter(before, changed.to, contextLines));
  const old = before.slice(changed.from, changed.to);
  const fresh = after.slice(changed.from, changed.to + after.length - before.length);
  const head = before.slice(from, changed.from);
  const options = { context: contextLines, maxEditLength: maxChanges };
  const patch = structuredPatch("", "", head + old + tail, head + fresh + tail, "", "", options);
  const shift = countLines(before.slice(0, from));
  if (patch === undefined)
    return [
      hunkHeader(shift + 1, countLines(head + old + tail), countLines(head + fresh + tail)),
      ...marked(" ", head),
      ...marked("-", old),
      ...marked("+", fresh),
      ...marked(" ", tail),
    ];
  return patch.hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    hunkHeader(shift + oldStart, oldLines, newLines, shift + newStart),
    ...lines,
  ]);
}

/** The lines of `before` that are not in `after` as well, at its beginning or end. */
function changedRange(before: string, after: string): { from: number; to: number } {
  const shorter = Math.min(before.length, after.length);
  let same = 0;
  while (same < shorter && before[same] === after[same]) same += 1;
  const from = same === 0 ? 0 : before.lastIndexOf("\n", same - 1) + 1;
  let sameAtEnd = 0;
  while (sameAtEnd < shorter - from && before.at(-1 - sameAtEnd) === after.at(-1 - sameAtEnd))
    sameAtEnd += 1;
  return { from, to: linesAfter(before, before.length - sameAtEnd, 1) };
}

function linesBefore(text: string, from: number, count: number): number {
  let at = from;
  for (let n = 0; n < count && at > 0; n += 1) at = at < 2 ? 0 : text.lastIndexOf("\n", at - 2) + 1;
  return at;
}

function linesAfter(text: string, from: number, count: number): number {
  let at = from;
  for (let n = 0; n < count && at < text.length; n += 1) {
    const end = text.indexOf("\n", at);
    at = end === -1 ? text.length : end + 1;
  }
  return at;
}

const linesOf = (text: string): readonly string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
const countLines = (text: string): number => linesOf(text).length;

function marked(sign: string, text: string): readonly string[] {
  const lines = linesOf(text).map((line) => sign + line.replace(/\n$/, ""));
  return text === "" || text.endsWith("\n") ? lines : [...lines, "\\ No newline at end of file"];
}

function hunkHeader(oldStart: number, oldCount: number, newCount: number, newStart = oldStart) {
  const from = oldStart - (oldCount === 0 ? 1 : 0);
  const to = newStart - (newCount === 0 ? 1 : 0);
  return `@@ -${from},${oldCount} +${to},${newCount} @@`;
}
