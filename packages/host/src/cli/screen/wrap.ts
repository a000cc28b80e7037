import wrapAnsi from "wrap-ansi";
import type { Paint, Style } from "./paint.ts";
import { widthOf } from "./width.ts";

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

const minRoom = 4;

/** Rows of at most `width` columns, broken between words; a word longer than a row is broken within. */
export function wrapSpans(spans: readonly Span[], paint: Paint, options: WrapOptions): string[] {
  const { first = "", rest = first } = options;
  const room = Math.max(minRoom, options.width - Math.max(widthOf(first), widthOf(rest)));
  const { indent, text } = splitIndent(spans, Math.floor(room / 2));
  const painted = paintSpans(text, paint);
  return wrapAnsi(painted, room - indent.length, { hard: true })
    .split("\n")
    .map((row, index) => ((index === 0 ? first : rest) + indent + row).trimEnd());
}

export function paintSpans(spans: readonly Span[], paint: Paint): string {
  return spans
    .map(({ text, styles }) => styles.reduce((inner, style) => paint(style, inner), text))
    .join("");
}

/** The leading blanks of the text, which indent all its rows. wrapAnsi would drop them. */
function splitIndent(
  spans: readonly Span[],
  maxColumns: number,
): { readonly indent: string; readonly text: readonly Span[] } {
  const [start, ...others] = spans;
  if (start === undefined) return { indent: "", text: [] };
  const trimmed = start.text.replace(/^ +/, "");
  const columns = Math.min(maxColumns, start.text.length - trimmed.length);
  return { indent: " ".repeat(columns), text: [{ ...start, text: trimmed }, ...others] };
}
