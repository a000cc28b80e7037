import { type Style, plainPaint, type Paint } from "./paint.ts";
import { type Span, wrapSpans } from "./wrap.ts";
import { cleanText } from "./text.ts";
import { padTo, widthOf } from "./width.ts";

export interface RenderStyle {
  readonly width: number;
  readonly paint: Paint;
}

/** Renders growing Markdown as terminal rows. Rows already returned never change. */
export interface MarkdownRows {
  /** Adds text and returns the rows that are finished. */
  push(text: string, style: RenderStyle): string[];
  /** The unfinished rest, as it looks now. */
  open(style: RenderStyle): string[];
  /** Ends the text and returns its last rows. */
  end(style: RenderStyle): string[];
}

export function createMarkdown(): MarkdownRows {
  let partial = "";
  let fence: string | null = null;
  let table: string[] = [];

  function flushTable(style: RenderStyle): string[] {
    const rows = table;
    table = [];
    return rows.length === 0 ? [] : drawTable(rows, style);
  }

  function renderLine(line: string, style: RenderStyle): string[] {
    const fenceMatch = /^\s{0,3}(`{3,}|~{3,})\s*([^`]*)$/.exec(line);
    if (fence !== null) {
      const closes = fenceMatch?.[2]?.trim() === "" && fenceMatch[1]?.startsWith(fence);
      if (!closes) return [style.paint("code", expandTabs(line))];
      fence = null;
      return [style.paint("dim", "─".repeat(Math.min(3, style.width)))];
    }
    if (fenceMatch !== null) {
      fence = fenceMatch[1] ?? "```";
      const rule = `─── ${fenceMatch[2]?.trim() ?? ""}`.trimEnd();
      return [...flushTable(style), style.paint("dim", rule)];
    }
    if (isTableRow(line)) {
      table.push(line);
      return [];
    }
    return [...flushTable(style), ...drawLine(line, style)];
  }

  return {
    push(text, style) {
      // A carriage return at the end may be half of a line break.
      const lines = (partial + text).replaceAll(/\r\n|\r(?=[^\n])/g, "\n").split("\n");
      partial = lines.pop() ?? "";
      return lines.flatMap((line) => renderLine(cleanText(line), style));
    },
    open(style) {
      const line = cleanText(partial.replace(/\r$/, ""));
      if (line === "" && table.length === 0) return [];
      if (fence !== null) return [style.paint("code", expandTabs(line))];
      const rows = isTableRow(line) ? [...table, line] : table;
      const drawn = rows.length === 0 ? [] : drawTable(rows, style);
      return isTableRow(line) || line === "" ? drawn : [...drawn, ...drawLine(line, style)];
    },
    end(style) {
      const line = cleanText(partial.replace(/\r$/, ""));
      partial = "";
      const last = line === "" ? [] : renderLine(line, style);
      return [...last, ...flushTable(style)];
    },
  };
}

function drawLine(line: string, style: RenderStyle): string[] {
  const { width, paint } = style;
  const text = expandTabs(line);
  const draw = (content: string, first = "", rest = first, styles: Style[] = []): string[] =>
    wrapSpans(readInline(content, styles), paint, { width, first, rest });

  const heading = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(text);
  if (heading !== null) {
    const styles: Style[] = heading[1] === "#" ? ["bold", "underline"] : ["bold"];
    return draw(heading[2] ?? "", "", "", styles);
  }
  if (/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(text))
    return [paint("dim", "─".repeat(Math.min(40, width)))];
  const quote = /^\s{0,3}((?:>\s?)+)(.*)$/.exec(text);
  if (quote !== null) {
    const depth = (quote[1] ?? "").replaceAll(/[^>]/g, "").length;
    return draw(quote[2] ?? "", paint("dim", "│ ".repeat(Math.min(depth, 4))));
  }
  const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?(.*)$/.exec(text);
  if (item !== null) {
    const [, indent = "", mark = "", box, content = ""] = item;
    const checkbox = box === undefined ? "" : box === " " ? "☐ " : "☑ ";
    const prefix = `${indent.slice(0, 12)}${/\d/.test(mark) ? mark : "•"} ${checkbox}`;
    return draw(content, prefix, " ".repeat(prefix.length));
  }
  return draw(text);
}

function expandTabs(line: string): string {
  return line.replaceAll("\t", "    ");
}

/** One alternative for each kind of mark. None looks beyond the next mark of its kind, so the cost stays linear. */
const inlinePattern =
  /\\([!-/:-@[-`{-~])|(`{1,3})([^`]+)\2(?!`)|\*\*(?=\S)([^*]+)\*\*|__(?=\S)([^_]+)__(?!\w)|\*(?=\S)([^*]+)\*|(?<!\w)_(?=\S)([^_]+)_(?!\w)|~~([^~]+)~~|(!?)\[([^[\]]*)\]\(([^()\s]*)\)/g;

/** Inline Markdown as styled spans. Anything that is not markup stays as written. */
function readInline(line: string, styles: readonly Style[] = []): Span[] {
  const spans: Span[] = [];
  let position = 0;
  const add = (text: string, ...more: Style[]): void => {
    if (text !== "") spans.push({ text, styles: [...styles, ...more] });
  };
  const addStyled = (text: string, style: Style): void => {
    spans.push(...readInline(text, [...styles, style]));
  };
  for (const match of line.matchAll(inlinePattern)) {
    const [whole, escaped, , code, bold, strong, italic, emphasis, struck, image, label, address] =
      match;
    add(line.slice(position, match.index));
    position = match.index + whole.length;
    if (escaped !== undefined) add(escaped);
    else if (code !== undefined) add(code.trim() === "" ? code : code.trim(), "code");
    else if (bold ?? strong) addStyled(bold ?? strong ?? "", "bold");
    else if (italic ?? emphasis) addStyled(italic ?? emphasis ?? "", "italic");
    else if (struck !== undefined) addStyled(struck, "dim");
    else addLink({ isImage: image === "!", label: label ?? "", address: address ?? "" }, add);
  }
  add(line.slice(position));
  return spans;
}

/** Always shows the address: a label may lie about where a link leads. */
function addLink(
  { isImage, label, address }: { isImage: boolean; label: string; address: string },
  add: (text: string, ...more: Style[]) => void,
): void {
  if (isImage) add(`[image: ${label}]`, "dim");
  else if (label !== address) add(label, "underline");
  if (address !== "") add(label === address ? address : ` (${address})`, "dim");
}

function isTableRow(line: string): boolean {
  return /^\s*\|.*\|\s*$/.test(line);
}

const isRule = (cells: readonly string[]): boolean =>
  cells.every((cell) => /^:?-{1,}:?$/.test(cell.trim()));

/** Columns as wide as their content; if the window is too narrow, one cell per row. */
function drawTable(lines: readonly string[], { width, paint }: RenderStyle): string[] {
  const rows = lines.map(cellsOf);
  const body = rows.filter((cells) => !isRule(cells));
  const columns = Math.max(0, ...body.map((cells) => cells.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(1, ...body.map((cells) => widthOf(cells[column] ?? ""))),
  );
  const hasHead = rows.length > 1 && isRule(rows[1] ?? []);
  const needed = widths.reduce((sum, columnWidth) => sum + columnWidth, 0) + (columns - 1) * 3;
  if (needed > width) return stackedRows(body, hasHead ? 1 : 0, width);
  return body.flatMap((cells, index) => {
    const row = widths
      .map((columnWidth, column) => padTo(cells[column] ?? "", columnWidth))
      .join(" │ ");
    if (index > 0 || !hasHead) return [row.trimEnd()];
    const rule = widths.map((columnWidth) => "─".repeat(columnWidth)).join("─┼─");
    return [paint("bold", row.trimEnd()), paint("dim", rule)];
  });
}

function stackedRows(body: readonly (readonly string[])[], heads: number, width: number): string[] {
  const head = heads === 1 ? (body[0] ?? []) : [];
  return body.slice(heads).flatMap((cells) => [
    ...cells.flatMap((cell, column) => {
      const name = head[column] ?? "";
      const text = name === "" ? cell : `${name}: ${cell}`;
      return wrapSpans([{ text, styles: [] }], plainPaint, { width, first: "", rest: "  " });
    }),
    "",
  ]);
}

function cellsOf(line: string): string[] {
  const inner = line.trim().slice(1, -1);
  // An escaped bar belongs to its cell.
  return inner.split(/(?<!\\)\|/).map((cell) =>
    readInline(cell.trim())
      .map(({ text }) => text)
      .join(""),
  );
}
