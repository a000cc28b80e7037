import { cleanLine } from "./text.ts";
import { splitGraphemes, widthOf } from "./width.ts";

export interface DrawnPrompt {
  readonly rows: readonly string[];
  /** Where the cursor stands among these rows. */
  readonly row: number;
  readonly column: number;
}

/** What is typed, row by row, with its cursor. Rows are as wide as the window allows, and no wider. */
export function drawPrompt(
  mark: string,
  { text, cursor }: { readonly text: string; readonly cursor: number },
  width: number,
): DrawnPrompt {
  const indent = " ".repeat(widthOf(mark));
  const room = Math.max(2, width - indent.length);
  const rows: string[] = [];
  let row = "";
  let at = 0;
  let place: { row: number; column: number } | undefined;
  const notice = (): void => {
    if (place === undefined && at >= cursor)
      place = { row: rows.length, column: indent.length + widthOf(row) };
  };
  for (const grapheme of splitGraphemes(text)) {
    const shown = grapheme === "\n" ? "" : cleanLine(grapheme);
    if (grapheme !== "\n" && widthOf(row) + widthOf(shown) > room) {
      rows.push(row);
      row = "";
    }
    notice();
    at += grapheme.length;
    if (grapheme === "\n") {
      rows.push(row);
      row = "";
    } else row += shown;
  }
  notice();
  rows.push(row);
  const lead = (index: number): string => (index === 0 ? mark : indent);
  return {
    rows: rows.map((each, index) => lead(index) + each),
    ...(place ?? { row: rows.length - 1, column: indent.length + widthOf(row) }),
  };
}
