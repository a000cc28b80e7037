import { CodeHighlighter } from "./highlight.ts";
import { readInline } from "./inline.ts";
import { type RenderStyle, type Style } from "./paint.ts";
import { drawTable, isTableRow } from "./table.ts";
import { paintSpans, wrapSpans } from "./wrap.ts";
import { cleanText } from "./text.ts";

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
  /** Finishes what was written so far, but for its last word, which may go on. */
  settle(style: RenderStyle): string[];
  /** Ends the text and returns its last rows. */
  end(style: RenderStyle): string[];
}

export function createMarkdown(): MarkdownRows {
  let partial = "";
  let fence: Fence | null = null;
  let isInFormula = false;
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
      if (!closes) return [paintSpans(fence.code.add(expandTabs(line)), style.paint)];
      fence = null;
      return [style.paint("dim", "─".repeat(Math.min(3, style.width)))];
    }
    if (mark !== undefined) {
      fence = { mark, indent: indent.length, code: new CodeHighlighter(info) };
      const rule = `─── ${info.trim()}`.trimEnd();
      return [...flushTable(style), style.paint("dim", rule)];
    }
    if (isInFormula || opensFormula(line)) {
      isInFormula = isInFormula ? !closesFormula(line) : true;
      return [...flushTable(style), expandTabs(line)];
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
      if (fence !== null) return [paintSpans(fence.code.look(expandTabs(line)), style.paint)];
      const rows = isTableRow(line) ? [...table, line] : table;
      const drawn = rows.length === 0 ? [] : drawTable(rows, style);
      return isTableRow(line) || line === "" ? drawn : [...drawn, ...drawLine(line, style)];
    },
    settle(style) {
      const words = /^[^|].*\s/s.exec(partial)?.[0] ?? "";
      partial = partial.slice(words.length);
      return words.trim() === "" ? [] : renderLine(cleanText(words.trimEnd()), style);
    },
    end(style) {
      const line = cleanText(partial.replace(/\r$/, ""));
      partial = "";
      const last = line === "" ? [] : renderLine(line, style);
      return [...last, ...flushTable(style)];
    },
  };
}

interface Fence {
  readonly mark: string;
  readonly indent: number;
  readonly code: CodeHighlighter;
}

/** A formula on lines of its own is shown as it was written. */
function opensFormula(line: string): boolean {
  return /^\s*(?:\$\$|\\\[)\s*$/.test(line);
}

function closesFormula(line: string): boolean {
  return /(?:\$\$|\\\])\s*$/.test(line) || line.trim() === "";
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
