import { type Style, plainPaint, type Paint } from "./screen.ts";
import { type Span, wrapSpans } from "./wrap.ts";
import { padTo, widthOf, cleanText } from "./text.ts";

/** One alternative for each kind of mark. None can look further than the next mark of its kind: the cost stays linear. */
const inlinePattern =
  /\\([!-/:-@[-`{-~])|(`{1,3})([^`]+)\2(?!`)|\*\*(?=\S)([^*]+)\*\*|__(?=\S)([^_]+)__(?!\w)|\*(?=\S)([^*]+)\*|(?<!\w)_(?=\S)([^_]+)_(?!\w)|~~([^~]+)~~|(!?)\[([^[\]]*)\]\(([^()\s]*)\)/g;

/** The inline marks of Markdown as styles. What is no mark stays as it was written. */
function readInline(line: string, styles: readonly Style[] = []): Span[] {
  const spans: Span[] = [];
  let from = 0;
  const add = (text: string, ...more: Style[]): void => {
    if (text !== "") spans.push({ text, styles: [...styles, ...more] });
  };
  const within = (text: string, style: Style): void => {
    spans.push(...readInline(text, [...styles, style]));
  };
  for (const found of line.matchAll(inlinePattern)) {
    const [whole, escaped, , code, bold, strong, italic, emphasis, struck, image, label, address] =
      found;
    add(line.slice(from, found.index));
    from = found.index + whole.length;
    if (escaped !== undefined) add(escaped);
    else if (code !== undefined) add(code.trim() === "" ? code : code.trim(), "code");
    else if (bold ?? strong) within(bold ?? strong ?? "", "bold");
    else if (italic ?? emphasis) within(italic ?? emphasis ?? "", "italic");
    else if (struck !== undefined) within(struck, "dim");
    else addLink({ isImage: image === "!", label: label ?? "", address: address ?? "" }, add);
  }
  add(line.slice(from));
  return spans;
}

/** The address is always shown: where a link leads is not for its label to say. */
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

/** Columns as wide as they need to be; where the window is too narrow for them, a cell to a row. */
function drawTable(lines: readonly string[], { width, paint }: RenderStyle): string[] {
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
