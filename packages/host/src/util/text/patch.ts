/** A unified diff of one file. `null`: the file does not exist before, or after. */
export interface FilePatch {
  readonly from: string | null;
  readonly to: string | null;
  readonly hunks: readonly Hunk[];
}

export interface Hunk {
  /** The line number in its header, from 1. */
  readonly at: number;
  /** Lines with their line breaks, so that a last line without one differs from one with. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

export type ParsedPatch =
  | { readonly ok: true; readonly files: readonly FilePatch[] }
  | { readonly ok: false; readonly words: string };

const hunkHead = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@/;
const unsupported = /^(rename (from|to)|copy (from|to)|GIT binary patch|Binary files) ?/;

/** Parses a unified diff as `diff -u` and `git diff` write it. Anything inconsistent is refused as a whole. */
export function parsePatch(text: string): ParsedPatch {
  const lines = text.split("\n").map((line) => line.replace(/\r$/, ""));
  const files: FilePatch[] = [];
  let at = 0;
  const invalid = (reason: string): ParsedPatch => ({
    ok: false,
    words: `Line ${at + 1}: ${reason}`,
  });
  while (at < lines.length) {
    const line = lines[at] ?? "";
    if (unsupported.test(line)) return invalid("renames, copies and binary files are not taken.");
    if (hunkHead.test(line)) return invalid("a hunk needs a header with --- and +++ before it.");
    if (!line.startsWith("--- ")) {
      at += 1;
      continue;
    }
    const target = lines[at + 1] ?? "";
    if (!target.startsWith("+++ ")) return invalid("--- must be followed by +++.");
    const from = nameOf(line.slice(4));
    const to = nameOf(target.slice(4));
    if (from === null && to === null) return invalid("one of the two sides must be a file.");
    at += 2;
    const hunks: Hunk[] = [];
    for (let head = hunkHead.exec(lines[at] ?? ""); head; head = hunkHead.exec(lines[at] ?? "")) {
      at += 1;
      const read = readHunk(lines, at, head);
      if (typeof read === "string") return invalid(read);
      hunks.push(read.hunk);
      ({ at } = read);
    }
    if (hunks.length === 0) return invalid("a file needs at least one hunk like @@ -1,2 +1,3 @@.");
    files.push({ from, to, hunks });
  }
  if (files.length === 0) return { ok: false, words: "There is no --- and +++ in it." };
  return { ok: true, files };
}

/** Git adds `a/` and `b/`, and a tab starts a date. */
function nameOf(text: string): string | null {
  const [name = ""] = text.split("\t", 1);
  const trimmed = name.trim();
  return trimmed === "/dev/null" ? null : trimmed.replace(/^[ab]\//, "");
}

function readHunk(
  lines: readonly string[],
  from: number,
  head: RegExpExecArray,
): { readonly hunk: Hunk; readonly at: number } | string {
  const [, start = "1", oldCount = "1", newCount = "1"] = head;
  const before: string[] = [];
  const after: string[] = [];
  let at = from;
  let last: readonly string[][] = [];
  const add = (text: string, ...sides: string[][]): void => {
    for (const side of sides) side.push(`${text}\n`);
    last = sides;
  };
  const isNoNewlineMark = () => lines[at]?.startsWith("\\") === true;
  while (isNoNewlineMark() || before.length < Number(oldCount) || after.length < Number(newCount)) {
    const line = lines[at];
    if (line === undefined) return "the hunk ends before all of its lines have come.";
    if (isNoNewlineMark())
      for (const side of last) side.push((side.pop() ?? "").replace(/\n$/, ""));
    else if (line.startsWith("-")) add(line.slice(1), before);
    else if (line.startsWith("+")) add(line.slice(1), after);
    // An editor may have stripped the single space of an empty line.
    else if (line.startsWith(" ") || line === "") add(line.slice(1), before, after);
    else return "a line of a hunk begins with a space, + or -.";
    at += 1;
  }
  if (before.length !== Number(oldCount) || after.length !== Number(newCount))
    return "the hunk's lines are not as many as its header says.";
  return { hunk: { at: Number(start), before, after }, at };
}

export type PatchResult =
  | { readonly ok: true; readonly text: string }
  /** `missing`: what a hunk wants changed and the file does not have. */
  | { readonly ok: false; readonly words: string; readonly missing?: string };

/**
 * Applies a patch. Every line that a hunk names must be there unchanged. It is first looked for where the hunk
 * says, then anywhere else, if that is one place.
 */
export function patchText(text: string, hunks: readonly Hunk[]): PatchResult {
  // The patch's author did not see the file's line endings, so those stay as they are.
  const isCrlf = /\r\n/.test(text) && !/(^|[^\r])\n/.test(text);
  const plain = isCrlf ? text.replaceAll("\r\n", "\n") : text;
  const namesFileEnd = hunks.some(({ before, after }) => [...before, ...after].some(isOpen));
  const addsFinalBreak = plain !== "" && isOpen(plain) && !namesFileEnd;
  const lines = (addsFinalBreak ? `${plain}\n` : plain).match(/[^\n]*\n|[^\n]+$/g) ?? [];
  let shift = 0;
  let searchFrom = 0;
  for (const [index, { at: headerLine, before, after }] of hunks.entries()) {
    const expectedAt = headerLine + shift - (before.length === 0 ? 0 : 1);
    const at = findLines(lines, before, expectedAt, searchFrom);
    if (at === "missing") {
      const words = `Hunk ${index + 1}: its lines are not in the file (${JSON.stringify(before[0])} …).`;
      return { ok: false, words, missing: before.join("") };
    }
    if (typeof at === "object") return { ok: false, words: `Hunk ${index + 1}: ${at.words}` };
    lines.splice(at, before.length, ...after);
    shift += after.length - before.length;
    searchFrom = at + after.length;
  }
  if (lines.slice(0, -1).some(isOpen))
    return { ok: false, words: "Only a file's last line can be without a line break." };
  const joined = addsFinalBreak ? lines.join("").replace(/\n$/, "") : lines.join("");
  return { ok: true, text: isCrlf ? joined.replaceAll("\n", "\r\n") : joined };
}

/** Comparing many identical lines in a file of such lines could take minutes. */
const maxComparisons = 20_000_000;

const isOpen = (line: string): boolean => !line.endsWith("\n");

function findLines(
  lines: readonly string[],
  wanted: readonly string[],
  at: number,
  from: number,
): number | "missing" | { readonly words: string } {
  let comparisons = 0;
  const isAt = (position: number): boolean => {
    const differs = wanted.findIndex((line, offset) => lines[position + offset] !== line);
    comparisons += differs === -1 ? wanted.length : differs + 1;
    return differs === -1;
  };
  if (at >= from && at + wanted.length <= lines.length && isAt(at)) return at;
  if (wanted.length === 0) return { words: "it adds beyond the end of the file." };
  const positions: number[] = [];
  for (
    let position = from;
    position + wanted.length <= lines.length && positions.length < 2;
    position += 1
  ) {
    if (isAt(position)) positions.push(position);
    if (comparisons > maxComparisons)
      return { words: "its lines are not where it says, and to look for them takes too long." };
  }
  const [first, second] = positions;
  if (first === undefined) return "missing";
  if (second !== undefined)
    return { words: "its lines are in the file more than once; name more of them." };
  return first;
}
