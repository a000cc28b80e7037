export interface Edit {
  readonly kind: "same" | "added" | "removed";
  readonly line: string;
}

/** More changes than this are shown as one block: nobody reads them line by line. */
const maxChanges = 400;

/** The edits that turn one list of lines into another: the shortest script while it is short (Myers). */
function diffLines(before: readonly string[], after: readonly string[]): readonly Edit[] {
  let start = 0;
  const shorter = Math.min(before.length, after.length);
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const old = before.slice(start, before.length - end);
  const fresh = after.slice(start, after.length - end);
  return [
    ...before.slice(0, start).map(same),
    ...(shortest(old, fresh) ?? [...old.map(removed), ...fresh.map(added)]),
    ...before.slice(before.length - end).map(same),
  ];
}

const same = (line: string): Edit => ({ kind: "same", line });
const added = (line: string): Edit => ({ kind: "added", line });
const removed = (line: string): Edit => ({ kind: "removed", line });

/** `null`: there are too many changes. */
function shortest(old: readonly string[], fresh: readonly string[]): readonly Edit[] | null {
  const limit = Math.min(old.length + fresh.length, maxChanges);
  /** One map per number of changes: for each diagonal, how far into `old` it gets. */
  const trace: Map<number, number>[] = [];
  let reach = new Map([[1, 0]]);
  for (let changes = 0; changes <= limit; changes += 1) {
    trace.push(reach);
    reach = new Map(reach);
    for (let k = -changes; k <= changes; k += 2) {
      let x = comesFromAbove(reach, k, changes)
        ? (reach.get(k + 1) ?? 0)
        : (reach.get(k - 1) ?? 0) + 1;
      while (x < old.length && x - k < fresh.length && old[x] === fresh[x - k]) x += 1;
      reach.set(k, x);
      if (x >= old.length && x - k >= fresh.length) return walkBack(trace, old, fresh);
    }
  }
  return null;
}

function comesFromAbove(reach: ReadonlyMap<number, number>, k: number, changes: number): boolean {
  return k === -changes || (k !== changes && (reach.get(k - 1) ?? 0) < (reach.get(k + 1) ?? 0));
}

function walkBack(
  trace: readonly ReadonlyMap<number, number>[],
  old: readonly string[],
  fresh: readonly string[],
): readonly Edit[] {
  const edits: Edit[] = [];
  let [x, y] = [old.length, fresh.length];
  for (let changes = trace.length - 1; changes >= 0; changes -= 1) {
    const reach = trace[changes] ?? new Map<number, number>();
    const k = x - y;
    const from = comesFromAbove(reach, k, changes) ? k + 1 : k - 1;
    const fromX = reach.get(from) ?? 0;
    const fromY = fromX - from;
    while (x > Math.max(fromX, 0) && y > Math.max(fromY, 0)) {
      x -= 1;
      y -= 1;
      edits.push(same(old[x] ?? ""));
    }
    if (changes === 0) break;
    if (x === fromX) edits.push(added(fresh[(y -= 1)] ?? ""));
    else edits.push(removed(old[(x -= 1)] ?? ""));
  }
  return edits.toReversed();
}

const contextLines = 3;

/** Splits a text into lines; marks a last line without a line break. */
function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  else lines.push(`${lines.pop() ?? ""}\n\\ No newline at end of file`);
  return lines;
}

/**
 * A unified diff of two texts without the file header; empty if they are equal. Beyond `maxLength` characters it
 * is cut after a whole line, and a last line says so.
 */
export function unifiedDiff(before: string, after: string, maxLength = 8_000): string {
  const edits = diffLines(linesOf(before), linesOf(after));
  const out: string[] = [];
  let room = maxLength;
  for (const hunk of hunksOf(edits)) {
    for (const line of [
      hunkHeader(hunk),
      ...hunk.map(({ kind, line: text }) => signs[kind] + text),
    ]) {
      room -= line.length + 1;
      if (room < 0) return [...out, "[the rest of the diff is left out]"].join("\n");
      out.push(line);
    }
  }
  return out.join("\n");
}

const signs = { same: " ", added: "+", removed: "-" } as const;

interface NumberedEdit extends Edit {
  /** Line numbers before and after, from 1. */
  readonly old: number;
  readonly fresh: number;
}

/** Groups changes with their context; overlapping contexts form one hunk. */
function hunksOf(edits: readonly Edit[]): NumberedEdit[][] {
  const numbered: NumberedEdit[] = [];
  let [old, fresh] = [1, 1];
  for (const edit of edits) {
    numbered.push({ ...edit, old, fresh });
    if (edit.kind !== "added") old += 1;
    if (edit.kind !== "removed") fresh += 1;
  }
  const changed = numbered.flatMap(({ kind }, index) => (kind === "same" ? [] : [index]));
  const hunks: NumberedEdit[][] = [];
  let from = 0;
  changed.forEach((index, n) => {
    const previous = changed[n - 1];
    if (previous === undefined || index - previous > 2 * contextLines)
      from = Math.max(0, index - contextLines);
    const next = changed[n + 1];
    if (next === undefined || next - index > 2 * contextLines)
      hunks.push(numbered.slice(from, index + contextLines + 1));
  });
  return hunks;
}

function hunkHeader(hunk: readonly NumberedEdit[]): string {
  const olds = hunk.filter(({ kind }) => kind !== "added").length;
  const news = hunk.filter(({ kind }) => kind !== "removed").length;
  const [first] = hunk;
  const from = (first?.old ?? 1) - (olds === 0 ? 1 : 0);
  const to = (first?.fresh ?? 1) - (news === 0 ? 1 : 0);
  return `@@ -${from},${olds} +${to},${news} @@`;
}
