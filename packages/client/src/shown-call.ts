/** Characters that need no quotes anywhere, so that a word of them can stand for itself. */
const plainWord = /^[\w@%+=:,./-]+$/;

export type LineKind = "added" | "removed" | "same";

/** What the host says about a call that waits: a line of its own, and below it exactly what would be done. */
export interface ShownText {
  readonly heading: string;
  readonly body: string;
  readonly kindOf: (line: string) => LineKind;
}

const same = (): LineKind => "same";

const lineKinds: Readonly<Record<string, ShownText["kindOf"]>> = {
  write_file: (line) => (line.startsWith("  ") ? "added" : "same"),
  edit_file: (line) => (line.startsWith("-") ? "removed" : line.startsWith("+") ? "added" : "same"),
  apply_patch: (line) =>
    /^ {2}-(?!-- )/.test(line) ? "removed" : /^ {2}\+(?!\+\+ )/.test(line) ? "added" : "same",
};

/** Splits what the host shows of a call. Nothing is left out, and words are joined only where they can be told apart. */
export function readShown(name: string, shown: string): ShownText {
  const end = shown.indexOf("\n");
  if (end === -1) return { heading: "", body: shown, kindOf: same };
  const heading = shown.slice(0, end);
  const rows = shown.slice(end + 1);
  const command = name === "terminal" && heading.startsWith("Runs ") ? joinWords(rows) : null;
  return { heading, body: command ?? rows, kindOf: lineKinds[name] ?? same };
}

const quotedRow = /^ {2}"((?:[^"\\]|\\.)*)"$/;

/** One word per row, as one line: a word keeps its quotes unless it is plain, so each can be read back. */
function joinWords(rows: string): string | null {
  const words = rows.split("\n").map((row) => {
    const inner = quotedRow.exec(row)?.[1];
    if (inner === undefined) return null;
    return plainWord.test(inner) ? inner : `"${inner}"`;
  });
  return words.includes(null) ? null : `  ${words.join(" ")}`;
}
