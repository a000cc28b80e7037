import { Lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { type RenderStyle, type Style, plainPaint } from "./paint.ts";
import { type Span, wrapSpans } from "./wrap.ts";
import { cleanText } from "./text.ts";
import { padTo, widthOf } from "./width.ts";

/**
 * Longer lines are shown in pieces: marked can need quadratic time for a line, and the line being written is rendered
 * again for each frame.
 */
const maxLineLength = 2_000;
const maxCodeLineLength = 10_000;
/** Longer tables are shown in pieces, since a table is drawn only when its last row is known. */
const maxTableRows = 200;

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
  let fence: { readonly mark: string; readonly indent: number } | null = null;
  let table: string[] = [];

  function flushTable(style: RenderStyle): string[] {
    const rows = table;
    table = [];
    return rows.length === 0 ? [] : drawTable(rows, style);
  }

  function renderLine(line: string, style: RenderStyle): string[] {
    // A fence may be indented, as part of a list item.
    const [, indent = "", mark, info = ""] = /^(\s*)(`{3,}|~{3,})\s*([^`]*)$/.exec(line) ?? [];
    if (fence !== null) {
      const isAsDeep = indent.length <= fence.indent + 3;
      const closes = mark?.startsWith(fence.mark) === true && info.trim() === "" && isAsDeep;
      if (!closes) return [style.paint("code", expandTabs(line))];
      fence = null;
      return [style.paint("dim", "─".repeat(Math.min(3, style.width)))];
    }
    if (mark !== undefined) {
      fence = { mark, indent: indent.length };
      const rule = `─── ${info.trim()}`.trimEnd();
      return [...flushTable(style), style.paint("dim", rule)];
    }
    if (isTableRow(line)) {
      table.push(line);
      return table.length < maxTableRows ? [] : flushTable(style);
    }
    return [...flushTable(style), ...drawLine(line, style)];
  }

  /** Renders the pieces of a line that is too long, and returns what is left of it. */
  function renderPieces(line: string, rows: string[], style: RenderStyle): string {
    let rest = line;
    for (;;) {
      const length = pieceLength(rest, fence === null ? maxLineLength : maxCodeLineLength);
      if (length === null) return rest;
      rows.push(...renderLine(cleanText(rest.slice(0, length)), style));
      rest = rest.slice(length);
    }
  }

  return {
    push(text, style) {
      const rows: string[] = [];
      // A carriage return at the end may be half of a line break.
      const lines = (partial + text).replaceAll(/\r\n|\r(?=[^\n])/g, "\n").split("\n");
      const last = lines.pop() ?? "";
      for (const line of lines)
        rows.push(...renderLine(cleanText(renderPieces(line, rows, style)), style));
      partial = renderPieces(last, rows, style);
      return rows;
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

/** Where to cut a line that is too long: between words if possible, and never inside a character. */
function pieceLength(line: string, maxLength: number): number | null {
  const length = line.endsWith("\r") ? line.length - 1 : line.length;
  if (length <= maxLength) return null;
  const afterBlank = line.lastIndexOf(" ", maxLength - 1) + 1;
  if (afterBlank > maxLength / 2) return afterBlank;
  return /[\uD800-\uDBFF]/.test(line.charAt(maxLength - 1)) ? maxLength - 1 : maxLength;
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

/** Inline Markdown as styled spans. Everything else, including HTML and entities, stays as written. */
function readInline(text: string, styles: readonly Style[] = []): Span[] {
  return spansOf(Lexer.lexInline(text), styles);
}

function spansOf(tokens: readonly Token[], styles: readonly Style[]): Span[] {
  // Only extensions produce other kinds.
  return tokens.flatMap((token) => spansOfToken(token as MarkedToken, styles));
}

function spansOfToken(token: MarkedToken, styles: readonly Style[]): Span[] {
  switch (token.type) {
    case "strong":
      return spansOf(token.tokens, [...styles, "bold"]);
    case "em":
      return spansOf(token.tokens, [...styles, "italic"]);
    case "del":
      return spansOf(token.tokens, [...styles, "dim"]);
    case "codespan":
      return [{ text: token.text, styles: [...styles, "code"] }];
    case "escape":
      return [{ text: token.text, styles }];
    case "link":
      return linkSpans(token, spansOf(token.tokens, [...styles, "underline"]), styles);
    case "image": {
      const label = { text: `[image: ${token.text}]`, styles: [...styles, "dim" as const] };
      return linkSpans(token, [label], styles);
    }
    default:
      return [{ text: token.raw, styles }];
  }
}

/** Always shows the address: a label may lie about where a link leads. */
function linkSpans(
  { raw, text, href }: Tokens.Link | Tokens.Image,
  label: readonly Span[],
  styles: readonly Style[],
): Span[] {
  const isBareAddress = !/^!?\[/.test(raw);
  if (isBareAddress || text === href) return [{ text, styles: [...styles, "dim"] }];
  return [
    ...label,
    ...(href === "" ? [] : [{ text: ` (${href})`, styles: [...styles, "dim" as const] }]),
  ];
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
