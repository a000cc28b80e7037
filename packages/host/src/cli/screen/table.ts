import wrapAnsi from "wrap-ansi";
import { readInline } from "./inline.ts";
import { type Paint, plainPaint, type RenderStyle } from "./paint.ts";
import { padTo, widthOf } from "./width.ts";
import { paintSpans, wrapSpans } from "./wrap.ts";

type Alignment = "left" | "right" | "centre";

const separator = " │ ";
/** Narrower columns are hard to read: one cell per row is better. */
const minColumn = 8;

export function isTableRow(line: string): boolean {
  return /^\s*\|.*\|\s*$/.test(line);
}

/** Columns aligned as the table says; cells wrap if the window is narrow, and stand below each other if it is narrower. */
export function drawTable(lines: readonly string[], { width, paint }: RenderStyle): string[] {
  const rows = lines.map(splitCells);
  const hasHead = rows.length > 1 && isRule(rows[1] ?? []);
  const alignments = hasHead ? (rows[1] ?? []).map(alignmentOf) : [];
  const body = rows
    .filter((cells) => !isRule(cells))
    .map((cells) => cells.map((cell) => drawCell(cell, paint)));
  const widths = fitColumns(body, width);
  if (widths === undefined) return stackedRows(rows, { hasHead, width });
  const [head, ...others] = body.map((cells) => drawRow(cells, widths, alignments));
  if (!hasHead || head === undefined) return [...(head ?? []), ...others.flat()];
  const rule = widths.map((column) => "─".repeat(column)).join("─┼─");
  const title = head.map((row) => paint("bold", row));
  return [...title, paint("dim", rule), ...others.flat()];
}

function splitCells(line: string): string[] {
  const inner = line.trim().slice(1, -1);
  // An escaped bar belongs to its cell.
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim());
}

function drawCell(cell: string, paint: Paint): string {
  return paintSpans(readInline(cell), paint);
}

function isRule(cells: readonly string[]): boolean {
  return cells.every((cell) => /^:?-{1,}:?$/.test(cell));
}

function alignmentOf(rule: string): Alignment {
  if (!rule.endsWith(":")) return "left";
  return rule.startsWith(":") ? "centre" : "right";
}

/** As wide as their content, or narrower so that all fit; `undefined` if they can't. */
function fitColumns(body: readonly (readonly string[])[], width: number): number[] | undefined {
  const count = Math.max(0, ...body.map((cells) => cells.length));
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(1, ...body.map((cells) => widthOf(cells[column] ?? ""))),
  );
  const room = width - (count - 1) * separator.length;
  for (;;) {
    const excess = widths.reduce((sum, column) => sum + column, 0) - room;
    if (excess <= 0) return widths;
    const widest = Math.max(...widths);
    const next = Math.max(minColumn, ...widths.filter((column) => column < widest));
    if (widest <= minColumn) return undefined;
    const column = widths.indexOf(widest);
    widths[column] = Math.max(next === widest ? widest - 1 : next, widest - excess, minColumn);
  }
}

function drawRow(
  cells: readonly string[],
  widths: readonly number[],
  alignments: readonly Alignment[],
): string[] {
  const wrapped = widths.map((column, index) =>
    wrapAnsi(cells[index] ?? "", column, { hard: true }).split("\n"),
  );
  const height = Math.max(1, ...wrapped.map((cell) => cell.length));
  return Array.from({ length: height }, (_, row) =>
    widths
      .map((column, index) => align(wrapped[index]?.[row] ?? "", column, alignments[index]))
      .join(separator)
      .trimEnd(),
  );
}

function align(text: string, column: number, alignment: Alignment = "left"): string {
  if (alignment === "left") return padTo(text, column);
  const free = Math.max(0, column - widthOf(text));
  const before = alignment === "right" ? free : Math.floor(free / 2);
  return padTo(" ".repeat(before) + text, column);
}

function stackedRows(
  rows: readonly (readonly string[])[],
  { hasHead, width }: { readonly hasHead: boolean; readonly width: number },
): string[] {
  const texts = rows
    .filter((cells) => !isRule(cells))
    .map((cells) => cells.map((cell) => drawCell(cell, plainPaint)));
  const head = hasHead ? (texts[0] ?? []) : [];
  return texts.slice(hasHead ? 1 : 0).flatMap((cells) => [
    ...cells.flatMap((cell, column) => {
      const name = head[column] ?? "";
      const text = name === "" ? cell : `${name}: ${cell}`;
      return wrapSpans([{ text, styles: [] }], plainPaint, { width, first: "", rest: "  " });
    }),
    "",
  ]);
}
