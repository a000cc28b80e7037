export interface DiffLine {
  readonly kind: "added" | "removed" | "same" | "place";
  readonly text: string;
  /** Its number in the file as it is now, or before the change if it was removed. */
  readonly line: number;
}

export interface FileDiff {
  readonly lines: readonly DiffLine[];
  readonly added: number;
  readonly removed: number;
  /** The host left the rest out. */
  readonly isCut: boolean;
}

const cutMark = "[the rest of the diff is left out]";
const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** The lines of a unified diff with their numbers. */
export function readDiff(diff: string): FileDiff {
  const lines: DiffLine[] = [];
  const count = { added: 0, removed: 0 };
  let [old, fresh] = [1, 1];
  const rows = diff === "" ? [] : diff.replace(/\n$/, "").split("\n");
  const isCut = rows.at(-1) === cutMark;
  for (const row of isCut ? rows.slice(0, -1) : rows) {
    const place = hunk.exec(row);
    const text = row.slice(1);
    if (place !== null) {
      [old, fresh] = [Number(place[1]), Number(place[2])];
      lines.push({ kind: "place", text: row, line: fresh });
    } else if (row.startsWith("+")) {
      lines.push({ kind: "added", text, line: fresh });
      fresh += 1;
      count.added += 1;
    } else if (row.startsWith("-")) {
      lines.push({ kind: "removed", text, line: old });
      old += 1;
      count.removed += 1;
    } else if (!row.startsWith("\\")) {
      lines.push({ kind: "same", text, line: fresh });
      old += 1;
      fresh += 1;
    }
  }
  return { lines, ...count, isCut };
}
