/** What a unified diff says about one file. `null`: there is none before, or none after. */
export interface FilePatch {
  readonly from: string | null;
  readonly to: string | null;
  readonly hunks: readonly Hunk[];
}

export interface Hunk {
  /** Where it says that it begins, from 1. */
  readonly at: number;
  /** Lines with their ends, so that one without a line break at a file's end is another line. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

export type ParsedPatch =
  | { readonly ok: true; readonly files: readonly FilePatch[] }
  | { readonly ok: false; readonly words: string };

const hunkHead = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@/;
const unsupported = /^(rename (from|to)|copy (from|to)|GIT binary patch|Binary files) ?/;

/** Reads a unified diff as `diff -u` and `git diff` write it. What does not add up is refused, whole. */
export function parsePatch(text: string): ParsedPatch {
  const lines = text.split("\n").map((line) => line.replace(/\r$/, ""));
  const files: FilePatch[] = [];
  let at = 0;
  const wrong = (words: string): ParsedPatch => ({ ok: false, words: `Line ${at + 1}: ${words}` });
  while (at < lines.length) {
    const line = lines[at] ?? "";
    if (unsupported.test(line)) return wrong("renames, copies and binary files are not taken.");
    if (hunkHead.test(line)) return wrong("a hunk needs a header with --- and +++ before it.");
    if (!line.startsWith("--- ")) {
      at += 1;
      continue;
    }
    const target = lines[at + 1] ?? "";
    if (!target.startsWith("+++ ")) return wrong("--- must be followed by +++.");
    const from = nameOf(line.slice(4));
    const to = nameOf(target.slice(4));
    if (from === null && to === null) return wrong("one of the two sides must be a file.");
    at += 2;
    const hunks: Hunk[] = [];
    for (let head = hunkHead.exec(lines[at] ?? ""); head; head = hunkHead.exec(lines[at] ?? "")) {
      at += 1;
      const read = readHunk(lines, at, head);
      if (typeof read === "string") return wrong(read);
      hunks.push(read.hunk);
      ({ at } = read);
    }
    if (hunks.length === 0) return wrong("a file needs at least one hunk like @@ -1,2 +1,3 @@.");
    files.push({ from, to, hunks });
  }
  if (files.length === 0) return { ok: false, words: "There is no --- and +++ in it." };
  return { ok: true, files };
}

/** `a/` and `b/` are git's own, and a tab begins a date. */
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
  const [, start = "1", olds = "1", news = "1"] = head;
  const before: string[] = [];
  const after: string[] = [];
  let at = from;
  let last: readonly string[][] = [];
  const add = (text: string, ...sides: string[][]): void => {
    for (const side of sides) side.push(`${text}\n`);
    last = sides;
  };
  const isMark = () => lines[at]?.startsWith("\\") === true;
  while (isMark() || before.length < Number(olds) || after.length < Number(news)) {
    const line = lines[at];
    if (line === undefined) return "the hunk ends before all of its lines have come.";
    if (isMark()) for (const side of last) side.push((side.pop() ?? "").replace(/\n$/, ""));
    else if (line.startsWith("-")) add(line.slice(1), before);
    else if (line.startsWith("+")) add(line.slice(1), after);
    // An editor may have taken the one space of an empty line away.
    else if (line.startsWith(" ") || line === "") add(line.slice(1), before, after);
    else return "a line of a hunk begins with a space, + or -.";
    at += 1;
  }
  if (before.length !== Number(olds) || after.length !== Number(news))
    return "the hunk's lines are not as many as its header says.";
  return { hunk: { at: Number(start), before, after }, at };
}

export type PatchResult =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly words: string };

/**
 * A text with a patch applied. Every line that a hunk names must be there as it is. It is looked for where the hunk says,
 * and when it is not there, where else it is, if that is one place.
 */
export function patchText(text: string, hunks: readonly Hunk[]): PatchResult {
  // A patch whose author did not see the file's ends: they stay as they are.
  const isDos = /\r\n/.test(text) && !/(^|[^\r])\n/.test(text);
  const plain = isDos ? text.replaceAll("\r\n", "\n") : text;
  const saysEnd = hunks.some(({ before, after }) => [...before, ...after].some(isOpen));
  const isOpenEnd = plain !== "" && isOpen(plain) && !saysEnd;
  const lines = (isOpenEnd ? `${plain}\n` : plain).match(/[^\n]*\n|[^\n]+$/g) ?? [];
  let shift = 0;
  let done = 0;
  for (const [index, { at: begins, before, after }] of hunks.entries()) {
    const wanted = begins + shift - (before.length === 0 ? 0 : 1);
    const at = findLines(lines, before, wanted, done);
    if (typeof at === "string") return { ok: false, words: `Hunk ${index + 1}: ${at}` };
    lines.splice(at, before.length, ...after);
    shift += after.length - before.length;
    done = at + after.length;
  }
  if (lines.slice(0, -1).some(isOpen))
    return { ok: false, words: "Only a file's last line can be without a line break." };
  const joined = isOpenEnd ? lines.join("").replace(/\n$/, "") : lines.join("");
  return { ok: true, text: isDos ? joined.replaceAll("\n", "\r\n") : joined };
}

/** Many lines that are all alike, in a file of such lines, would be compared for minutes. */
const maxLooks = 20_000_000;

const isOpen = (line: string): boolean => !line.endsWith("\n");

function findLines(
  lines: readonly string[],
  wanted: readonly string[],
  at: number,
  from: number,
): number | string {
  let looks = 0;
  const isAt = (place: number): boolean => {
    const differs = wanted.findIndex((line, n) => lines[place + n] !== line);
    looks += differs === -1 ? wanted.length : differs + 1;
    return differs === -1;
  };
  if (at >= from && at + wanted.length <= lines.length && isAt(at)) return at;
  if (wanted.length === 0) return "it adds beyond the end of the file.";
  const places: number[] = [];
  for (let place = from; place + wanted.length <= lines.length && places.length < 2; place += 1) {
    if (isAt(place)) places.push(place);
    if (looks > maxLooks)
      return "its lines are not where it says, and to look for them takes too long.";
  }
  const [only, other] = places;
  if (only === undefined) return `its lines are not in the file (${JSON.stringify(wanted[0])} …).`;
  if (other !== undefined) return "its lines are in the file more than once; name more of them.";
  return only;
}
