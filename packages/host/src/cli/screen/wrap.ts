import type { Paint, Style } from "./screen.ts";
import { splitGraphemes, widthOf } from "./text.ts";

/** Text in one style. */
export interface Span {
  readonly text: string;
  readonly styles: readonly Style[];
}

export interface WrapOptions {
  readonly width: number;
  /** In front of the first row, and of all others. */
  readonly first?: string;
  readonly rest?: string;
}

interface WrapWord {
  readonly spans: readonly Span[];
  readonly width: number;
}

/** Rows of at most `width` columns, broken between words; a word that is longer than a row is broken within. */
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
    // What would begin a row with the gap between two words is left out, save where the text itself begins so.
    if (isBlank && row.width === 0 && rows.length > 0) continue;
    row = { spans: [...row.spans, ...word.spans], width: row.width + word.width };
  }
  rows.push(row);
  return rows.map(({ spans: within }, index) => {
    const painted = within.map(({ text, styles }) =>
      styles.reduce((inner, style) => paint(style, inner), text),
    );
    return ((index === 0 ? first : rest) + painted.join("")).trimEnd();
  });
}

/** Words and the gaps between them. Spans that touch without a gap are one word. */
function* splitWords(spans: readonly Span[], room: number): Generator<WrapWord> {
  let word: Span[] = [];
  let width = 0;
  function* flush(): Generator<WrapWord> {
    if (word.length > 0) yield* breakWord({ spans: word, width }, room);
    word = [];
    width = 0;
  }
  for (const { text, styles } of spans) {
    for (const piece of text.split(/( +)/)) {
      if (piece === "") continue;
      const isGap = piece.startsWith(" ");
      if (isGap) yield* flush();
      const span = { text: piece, styles };
      const columns = widthOf(piece);
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
