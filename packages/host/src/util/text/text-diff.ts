import { diffLines, type Edit } from "./diff.ts";

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
