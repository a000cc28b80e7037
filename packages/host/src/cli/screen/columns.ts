import { createPaint } from "./paint.ts";
import { columnsOf, type TerminalOutput } from "./screen.ts";
import { padTo, widthOf } from "./width.ts";
import { wrapSpans } from "./wrap.ts";

const gap = "  ";
const defaultColumns = 80;
/** The last cell gets at least this much room beside the others, or stands below them. */
const minLastColumns = 24;

interface Window {
  readonly output: TerminalOutput;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Rows of cells in columns that line up. The last cell of a row wraps within its column. */
export function alignCells(
  rows: readonly (readonly string[])[],
  { output, environment }: Window,
): string[] {
  const width = columnsOf(output, defaultColumns) - 1;
  const paint = createPaint(output, environment);
  const count = Math.max(...rows.map((cells) => cells.length)) - 1;
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(0, ...rows.map((cells) => widthOf(cells[column] ?? ""))),
  );
  const before = widths.reduce((sum, each) => sum + (each === 0 ? 0 : each + gap.length), 0);
  return rows.flatMap((cells) => {
    const head = widths
      .flatMap((each, column) => (each === 0 ? [] : [padTo(cells[column] ?? "", each) + gap]))
      .join("");
    const last = cells.length > count ? (cells[count] ?? "") : "";
    const spans = [{ text: last, styles: [] }];
    if (last === "") return [head.trimEnd()];
    if (width - before >= minLastColumns)
      return wrapSpans(spans, paint, { width, first: head, rest: " ".repeat(before) });
    return [head.trimEnd(), ...wrapSpans(spans, paint, { width, first: "    " })];
  });
}
