import type { DrawnPrompt } from "../../screen/prompt.ts";

/** The rows at the bottom that may change, and where the cursor stands among them. */
export interface ScreenLayout {
  readonly rows: readonly string[];
  readonly cursor: { readonly row: number; readonly column: number };
}

export interface LayoutSections {
  /** What is being written or run; of what is too long the end is shown. */
  readonly live: readonly string[];
  /** What waits, and how things stand. */
  readonly status: readonly string[];
  /** What is to be chosen from; of what is too long the beginning is shown. */
  readonly choices: readonly string[];
  readonly prompt: DrawnPrompt;
  readonly footer: string;
}

/**
 * Puts the sections below each other in a window of so many rows. The frame is always lower than the window: one that fills it
 * would be erased with what stands above it. What is typed goes before everything else.
 */
export function layoutScreen(
  { live, status: told, choices: offered, prompt, footer }: LayoutSections,
  height: number,
): ScreenLayout {
  const room = Math.max(3, height - 1);
  const typed = visibleRows(prompt, Math.max(1, Math.floor(room / 2)));
  let left = room - typed.rows.length;
  const take = (rows: readonly string[], from: "start" | "end"): readonly string[] => {
    const most = Math.max(0, left);
    const taken = from === "start" ? rows.slice(0, most) : rows.slice(-most || rows.length);
    left -= taken.length;
    return taken;
  };
  const below = take([footer], "start");
  const choices = take(offered, "start");
  const words = take(told, "start");
  const above = [...take(live, "end"), ...words, ...choices];
  return {
    rows: [...above, ...typed.rows, ...below],
    cursor: { row: above.length + typed.row, column: typed.column },
  };
}

/** The rows around the cursor of a text that is higher than there is room for. */
function visibleRows({ rows, row, column }: DrawnPrompt, most: number): DrawnPrompt {
  if (rows.length <= most) return { rows, row, column };
  const from = Math.min(Math.max(0, row - Math.floor(most / 2)), rows.length - most);
  return { rows: rows.slice(from, from + most), row: row - from, column };
}
