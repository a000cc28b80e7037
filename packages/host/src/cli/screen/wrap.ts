import type { Paint, Style } from "./screen.ts";
import { splitGraphemes, widthOf } from "./text.ts";

/** Text in one style. */
export interface Span {
  readonly text: string;
  readonly styles: readonly Style[];
}

export interface WrapOptions {
  readonly width: number;
  /** Prefix of the first row, and of all others. */
  readonly first?: string;
  readonly rest?: string;
}

interface WrapWord {
  readonly spans: readonly Span[];
  readonly width: number;
}

/** Rows of at most `width` columns, broken between words; a word longer than a row is broken within. */
export function wrapSpans(spans: readonly Span[], paint: Paint, options: WrapOptions): string[] {
  const { first = "", rest = first } = options;
  const room = Math.max(4, options.width - Math.max(widthOf(first), widthOf(rest)));
  const rows: WrapWord[] = [];
  let row: WrapWord = { spans: [], width: 0 };
  for (const word of splitWords(spans, room)) {
    const isBlank = word.spans.every(({ text }) => text.trim() === "");
    if (row.width + word.width > room && !isBlank) {
      rows.push(row);
      row = { spans: [], width: 0 };
    }
    // Skip the gap between words at the start of a row, unless the text itself starts with it.
    if (isBlank && row.width === 0 && rows.length > 0) continue;
    row = { spans: [...row.spans, ...word.spans], width: row.width + word.width };
  }
  rows.push(row);
  return rows.map(({ spans: rowSpans }, index) => {
    const painted = rowSpans.map(({ text, styles }) =>
      styles.reduce((inner, style) => paint(style, inner), text),
    );
    return ((index === 0 ? first : rest) + painted.join("")).trimEnd();
  });
}

/** Words and the gaps between them. Adjacent spans without a gap form one word. */
function* splitWords(spans: readonly Span[], room: number): Generator<WrapWord> {
  let word: Span[] = [];
  let width = 0;
  function* flush(): Generator<WrapWord> {
    if (word.length > 0) yield* breakWord({ spans: word, width }, room);
    word = [];
    width = 0;
  }
  for (const { text, styles } of spans) {
    for (const token of text.split(/( +)/)) {
      if (token === "") continue;
      const isGap = token.startsWith(" ");
      if (isGap) yield* flush();
      const span = { text: token, styles };
      const columns = widthOf(token);
      if (isGap) yield { spans: [span], width: columns };
      else {
        word.push(span);
        width += columns;
      }
    }
  }
  yield* flush();
}

function* breakWord(word: WrapWord, room: number): Generator<WrapWord> {
  if (word.width <= room) {
    yield word;
    return;
  }
  let spans: Span[] = [];
  let width = 0;
  for (const { text, styles } of word.spans) {
    let part = "";
    for (const grapheme of splitGraphemes(text)) {
      const columns = widthOf(grapheme);
      if (width + columns > room && width > 0) {
        yield { spans: [...spans, { text: part, styles }], width };
        spans = [];
        part = "";
        width = 0;
      }
      part += grapheme;
      width += columns;
    }
    if (part !== "") spans.push({ text: part, styles });
  }
  if (width > 0) yield { spans, width };
}
