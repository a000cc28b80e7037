import { bare, type Figure, type Line, ours, type Unit } from "./figures.ts";

/** A Markdown table, padded so that it also reads well in a terminal. */
export function renderTable(lines: readonly Line[]): string {
  const systems = new Set(lines.flatMap((line) => line.figures.map((figure) => figure.system)));
  const others = [...systems].filter((system) => system !== ours && system !== bare);
  const hasBare = systems.has(bare);
  const hasBounds = lines.some((line) => line.bound !== undefined);
  const head = [
    "",
    ours,
    ...(hasBare ? [bare, "ratio"] : []),
    ...others,
    ...(hasBounds ? ["required", ""] : []),
  ];
  const rows = lines.map((line) => [
    line.what,
    cell(line, ours),
    ...(hasBare ? [cell(line, bare), ratioCell(line)] : []),
    ...others.map((system) => cell(line, system)),
    ...(hasBounds ? boundCells(line) : []),
  ]);
  return layOut([head, ...rows]);
}

function boundCells({ bound }: Line): readonly string[] {
  return bound === undefined ? ["", ""] : [bound.text, bound.met ? "ok" : "MISSED"];
}

function layOut(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const text = rows.map(
    (row) =>
      `| ${row.map((value, column) => align(value, widths[column] ?? 0, column)).join(" | ")} |`,
  );
  const rule = `| ${widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)).join(" | ")} |`;
  return [text[0], rule, ...text.slice(1)].join("\n");
}

function align(value: string, width: number, column: number): string {
  return column === 0 ? value.padEnd(width) : value.padStart(width);
}

function figureOf(line: Line, system: string): Figure | undefined {
  return line.figures.find((figure) => figure.system === system);
}

function cell(line: Line, system: string): string {
  const figure = figureOf(line, system);
  if (figure === undefined) return "";
  return Number.isNaN(figure.value) ? "n/a" : formatValue(figure.value, figure.unit);
}

function ratioCell(line: Line): string {
  const [mine, limit] = [figureOf(line, ours), figureOf(line, bare)];
  if (mine === undefined || limit === undefined || mine.unit !== limit.unit) return "";
  return formatValue(mine.value / limit.value, "×");
}

export function formatValue(value: number, unit: Unit): string {
  switch (unit) {
    case "ms":
    case "s":
      return `${significant(value)} ${unit}`;
    case "/s":
      return `${value < 100 ? significant(value) : Math.round(value).toLocaleString("en")}/s`;
    case "bytes":
      return value < 10_000 ? `${Math.round(value)} B` : `${significant(value / 1024)} KiB`;
    case "×":
      return `${significant(value)}×`;
    case "%":
      return `${value.toFixed(1)} %`;
  }
}

function significant(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en");
  if (value >= 10) return value.toFixed(1);
  return value >= 0.1 ? value.toFixed(2) : value.toFixed(3);
}
