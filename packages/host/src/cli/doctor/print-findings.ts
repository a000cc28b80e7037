import type { Terminal } from "../command.ts";
import { createPaint, type Style } from "../screen/paint.ts";
import { columnsOf } from "../screen/screen.ts";
import { cleanLine } from "../screen/text.ts";
import { padTo } from "../screen/width.ts";
import { wrapSpans } from "../screen/wrap.ts";
import type { DoctorFinding } from "./finding.ts";

export function printFindings(findings: readonly DoctorFinding[], terminal: Terminal): void {
  for (const finding of findings) for (const row of rowsOf(finding, terminal)) terminal.print(row);
}

const stateMarks: Record<DoctorFinding["state"], readonly [string, Style]> = {
  good: ["✓", "good"],
  care: ["!", "accent"],
  bad: ["✗", "bad"],
};

const nameColumns = 12;
const pipeColumns = 10_000;

/** One row for each in a pipe; a terminal wraps them. */
function rowsOf({ what, state, words, mend }: DoctorFinding, terminal: Terminal): string[] {
  const { output, environment } = terminal;
  const paint = createPaint(output, environment);
  const width = output.isTTY === true ? columnsOf(output, 80) - 1 : pipeColumns;
  const [mark, style] = stateMarks[state];
  const indent = " ".repeat(nameColumns + 3);
  const wrap = (text: string, first: string, rest: string): string[] =>
    wrapSpans([{ text: cleanLine(text), styles: [] }], paint, { width, first, rest });
  return [
    ...wrap(words, `${paint(style, mark)} ${padTo(what, nameColumns)} `, indent),
    ...(mend === undefined ? [] : wrap(mend, `${indent}→ `, `${indent}  `)),
  ];
}
