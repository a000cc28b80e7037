import { readInline } from "./inline.ts";
import type { RenderStyle } from "./markdown.ts";
import { plainPaint } from "./paint.ts";
import { padTo, widthOf } from "./width.ts";
import { wrapSpans } from "./wrap.ts";

export function isTableRow(line: string): boolean {
  return /^\s*\|.*\|\s*$/.test(line);
}

const isRule = (cells: readonly string[]): boolean =>
  cells.every((cell) => /^:?-{1,}:?$/.test(cell.trim()));

/** Columns as wide as they need to be; where the window is too narrow for them, a cell to a row. */
export function drawTable(lines: readonly string[], { width, paint }: RenderStyle): string[] {
  const rows = lines.map(cellsOf);
  const body = rows.filter((cells) => !isRule(cells));
  const columns = Math.max(0, ...body.map((cells) => cells.length));
  const widths = Array.from({ length: columns }, (_, at) =>
    Math.max(1, ...body.map((cells) => widthOf(cells[at] ?? ""))),
  );
  const hasHead = rows.length > 1 && isRule(rows[1] ?? []);
  const needed = widths.reduce((sum, each) => sum + each, 0) + (columns - 1) * 3;
  if (needed > width) return stackedRows(body, hasHead ? 1 : 0, width);
  return body.flatMap((cells, index) => {
    const row = widths.map((each, at) => padTo(cells[at] ?? "", each)).join(" │ ");
    if (index > 0 || !hasHead) return [row.trimEnd()];
    const rule = widths.map((each) => "─".repeat(each)).join("─┼─");
    return [paint("bold", row.trimEnd()), paint("dim", rule)];
  });
}

function stackedRows(body: readonly (readonly string[])[], heads: number, width: number): string[] {
  const head = heads === 1 ? (body[0] ?? []) : [];
  return body.slice(heads).flatMap((cells) => [
    ...cells.flatMap((cell, at) => {
      const name = head[at] ?? "";
      const text = name === "" ? cell : `${name}: ${cell}`;
      return wrapSpans([{ text, styles: [] }], plainPaint, { width, first: "", rest: "  " });
    }),
    "",
  ]);
}

function cellsOf(line: string): string[] {
  const inner = line.trim().slice(1, -1);
  // A bar that is escaped is part of its cell.
  return inner.split(/(?<!\\)\|/).map((cell) =>
    readInline(cell.trim())
      .map(({ text }) => text)
      .join(""),
  );
}
