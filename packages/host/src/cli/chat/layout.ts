import type { DrawnPrompt } from "../screen/line-editor.ts";
import type { LiveRegion } from "../screen/screen.ts";

export interface LayoutSections {
  /** What is being written or run; if too long, its end is shown. */
  readonly live: readonly string[];
  /** Queued messages and the status. */
  readonly status: readonly string[];
  /** What to choose from; if too long, its beginning is shown. */
  readonly choices: readonly string[];
  readonly prompt: DrawnPrompt;
  readonly footer?: string | undefined;
}

/**
 * Stacks the sections within the window's height. The frame is always lower than the window: one that fills it
 * would be erased together with the rows above. The input has priority.
 */
export function layoutScreen(
  { live, status, choices, prompt, footer }: LayoutSections,
  height: number,
): Required<LiveRegion> {
  const room = Math.max(3, height - 1);
  const input = visibleRows(prompt, Math.max(1, Math.floor(room / 2)));
  let remaining = room - input.rows.length;
  const take = (rows: readonly string[], from: "start" | "end"): readonly string[] => {
    const maxRows = Math.max(0, remaining);
    const taken = from === "start" ? rows.slice(0, maxRows) : rows.slice(-maxRows || rows.length);
    remaining -= taken.length;
    return taken;
  };
  const below = take(footer === undefined ? [] : [footer], "start");
  const choiceRows = take(choices, "start");
  const statusRows = take(status, "start");
  const above = [...take(live, "end"), ...statusRows, ...choiceRows];
  return {
    rows: [...above, ...input.rows, ...below],
    cursor: { row: above.length + input.row, column: input.column },
  };
}

/** The rows around the cursor, if the text is too high. */
function visibleRows({ rows, row, column }: DrawnPrompt, maxRows: number): DrawnPrompt {
  if (rows.length <= maxRows) return { rows, row, column };
  const from = Math.min(Math.max(0, row - Math.floor(maxRows / 2)), rows.length - maxRows);
  return { rows: rows.slice(from, from + maxRows), row: row - from, column };
}
