export interface Edit {
  readonly kind: "same" | "added" | "removed";
  readonly line: string;
}

/** More changes than this are shown as one: nobody reads them line by line. */
const maxChanges = 400;

/** What turns one list of lines into another, by the shortest way where that is short (Myers). */
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
  const most = Math.min(old.length + fresh.length, maxChanges);
  /** For each diagonal, how far into `old` so many changes lead; one map for each number of changes. */
  const trace: Map<number, number>[] = [];
  let reach = new Map([[1, 0]]);
  for (let changes = 0; changes <= most; changes += 1) {
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

const context = 3;

/** A text in lines, and whether the last one is ended. */
function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  else lines.push(`${lines.pop() ?? ""}\n\\ No newline at end of file`);
  return lines;
}

/**
 * A unified diff of two texts, without its file header; empty when they are the same. What is longer than `most` characters is cut
 * after a whole line, and a line says so.
 */
export function unifiedDiff(before: string, after: string, most = 8_000): string {
  const edits = diffLines(linesOf(before), linesOf(after));
  const out: string[] = [];
  let room = most;
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

/** Changes with what stands around them; those whose surroundings touch are one hunk. */
function hunksOf(edits: readonly Edit[]): NumberedEdit[][] {
  const placed: NumberedEdit[] = [];
  let [old, fresh] = [1, 1];
  for (const edit of edits) {
    placed.push({ ...edit, old, fresh });
    if (edit.kind !== "added") old += 1;
    if (edit.kind !== "removed") fresh += 1;
  }
  const changed = placed.flatMap(({ kind }, index) => (kind === "same" ? [] : [index]));
  const hunks: NumberedEdit[][] = [];
  let from = 0;
  changed.forEach((index, n) => {
    const before = changed[n - 1];
    if (before === undefined || index - before > 2 * context) from = Math.max(0, index - context);
    const next = changed[n + 1];
    if (next === undefined || next - index > 2 * context)
      hunks.push(placed.slice(from, index + context + 1));
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
