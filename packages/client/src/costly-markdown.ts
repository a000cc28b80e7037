/** A parser calls itself for each level, and reads the rest again. */
const deepLine = /^(?:[ \t]*(?:>|(?:[*+-]|\d{1,9}[.)])[ \t])){100}/;
const deepItem = /^[ \t]{200}[ \t]*(?:[*+-]|\d{1,9}[.)])[ \t]/;

const tableRule = /^[ \t>]*[|:-][ \t|:-]*$/;
/** A parser fills each row up to the width of its table: 10 KB can describe millions of cells. */
const maxTableCells = 50_000;

/**
 * Whether a Markdown parser would need time or memory out of proportion to the length of the text. Models may write such
 * a text, which is then shown as it is.
 */
export function isCostlyMarkdown(text: string): boolean {
  let cells = 0;
  let rows = 0;
  for (const line of text.split("\n").toReversed()) {
    if (deepLine.test(line) || deepItem.test(line)) return true;
    rows = line.trim() === "" ? 0 : rows + 1;
    if (line.includes("|") && tableRule.test(line)) cells += (line.split("|").length + 1) * rows;
  }
  return cells > maxTableCells;
}
