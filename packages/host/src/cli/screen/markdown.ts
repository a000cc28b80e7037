import { readInline } from "./inline.ts";
import type { Paint, Style } from "./paint.ts";
import { drawTable, isTableRow } from "./table.ts";
import { cleanText } from "./text.ts";
import { wrapSpans } from "./wrap.ts";

export interface RenderStyle {
  readonly width: number;
  readonly paint: Paint;
}

/** Markdown that grows, as rows for a terminal. Rows that were given stay as they are. */
export interface MarkdownRows {
  /** Takes more of the text and gives the rows that are finished. */
  push(text: string, look: RenderStyle): string[];
  /** What is not finished yet, as it looks now. */
  open(look: RenderStyle): string[];
  /** The text is at its end. */
  end(look: RenderStyle): string[];
}

export function createMarkdown(): MarkdownRows {
  let partial = "";
  let fence: string | null = null;
  let table: string[] = [];

  function flushTable(look: RenderStyle): string[] {
    const rows = table;
    table = [];
    return rows.length === 0 ? [] : drawTable(rows, look);
  }

  function takeLine(line: string, look: RenderStyle): string[] {
    const opened = /^\s{0,3}(`{3,}|~{3,})\s*([^`]*)$/.exec(line);
    if (fence !== null) {
      const closes = opened?.[2]?.trim() === "" && opened[1]?.startsWith(fence);
      if (!closes) return [look.paint("code", expandTabs(line))];
      fence = null;
      return [look.paint("dim", "─".repeat(Math.min(3, look.width)))];
    }
    if (opened !== null) {
      fence = opened[1] ?? "```";
      const rule = `─── ${opened[2]?.trim() ?? ""}`.trimEnd();
      return [...flushTable(look), look.paint("dim", rule)];
    }
    if (isTableRow(line)) {
      table.push(line);
      return [];
    }
    return [...flushTable(look), ...drawLine(line, look)];
  }

  return {
    push(text, look) {
      // A return at the end may be the first half of a line's end.
      const lines = (partial + text).replaceAll(/\r\n|\r(?=[^\n])/g, "\n").split("\n");
      partial = lines.pop() ?? "";
      return lines.flatMap((line) => takeLine(cleanText(line), look));
    },
    open(look) {
      const line = cleanText(partial.replace(/\r$/, ""));
      if (line === "" && table.length === 0) return [];
      if (fence !== null) return [look.paint("code", expandTabs(line))];
      const rows = isTableRow(line) ? [...table, line] : table;
      const drawn = rows.length === 0 ? [] : drawTable(rows, look);
      return isTableRow(line) || line === "" ? drawn : [...drawn, ...drawLine(line, look)];
    },
    end(look) {
      const line = cleanText(partial.replace(/\r$/, ""));
      partial = "";
      const last = line === "" ? [] : takeLine(line, look);
      return [...last, ...flushTable(look)];
    },
  };
}

function drawLine(line: string, look: RenderStyle): string[] {
  const { width, paint } = look;
  const text = expandTabs(line);
  const draw = (words: string, first = "", rest = first, styles: Style[] = []): string[] =>
    wrapSpans(readInline(words, styles), paint, { width, first, rest });

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
    const [, indent = "", mark = "", box, words = ""] = item;
    const ticked = box === undefined ? "" : box === " " ? "☐ " : "☑ ";
    const lead = `${indent.slice(0, 12)}${/\d/.test(mark) ? mark : "•"} ${ticked}`;
    return draw(words, lead, " ".repeat(lead.length));
  }
  return draw(text);
}

function expandTabs(line: string): string {
  return line.replaceAll("\t", "    ");
}
