import cliTruncate from "cli-truncate";
import stringWidth from "string-width";

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

export function splitGraphemes(text: string): string[] {
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}

/** The columns that the text occupies in a terminal; styles occupy none. */
export function widthOf(text: string): number {
  return stringWidth(text);
}

/** Only this many code units per column are measured: a tool may print megabytes on one line. */
const maxUnitsPerColumn = 50;

/** Truncates text to the columns without splitting a grapheme or losing the end of a style; `…` marks the cut. */
export function fitTo(text: string, columns: number): string {
  const limit = Math.max(1, columns) * maxUnitsPerColumn;
  const start = text.length > limit ? `${text.slice(0, limit).toWellFormed()}…` : text;
  return cliTruncate(start, columns);
}

/** The same, keeping the end. */
export function fitEndTo(text: string, columns: number): string {
  const limit = Math.max(1, columns) * maxUnitsPerColumn;
  const end = text.length > limit ? `…${text.slice(-limit).toWellFormed()}` : text;
  return cliTruncate(end, columns, { position: "start" });
}

export function padTo(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - widthOf(text)));
}
