import type { ConnectionState } from "@holdfast/client";
import type { UsageTotalsView } from "@holdfast/protocol";
import { cleanLine } from "../../screen/text.ts";
import { fitTo, widthOf } from "../../screen/width.ts";
import { type RenderStyle } from "../../screen/markdown.ts";
import type { DrawnPrompt } from "../../screen/line-editor.ts";

export interface FooterState {
  readonly model: string;
  readonly usage: UsageTotalsView | undefined;
  readonly connection: ConnectionState;
  /** What the keys do right now. */
  readonly keys: string;
}

const connectionMarks: Record<ConnectionState, string> = {
  live: "● live",
  reconnecting: "◌ reconnecting",
  offline: "○ offline",
};

/** The model, its usage and the connection; the keys if there is room. */
export function footerRow(
  { model, usage, connection, keys }: FooterState,
  style: RenderStyle,
): string {
  const { width, paint } = style;
  const facts = [
    connectionMarks[connection],
    cleanLine(model),
    ...(usage === undefined ? [] : usageTexts(usage)),
  ];
  const left = facts.filter((fact) => fact !== "").join(" · ");
  const gap = width - widthOf(left) - widthOf(keys);
  const row = gap < 2 || keys === "" ? fitTo(left, width) : left + " ".repeat(gap) + keys;
  return connection === "live" ? paint("dim", row) : paint("bad", row);
}

function usageTexts({ input, output, costMicros }: UsageTotalsView): string[] {
  const cost = costMicros === 0 ? [] : [`$${(costMicros / 1e6).toFixed(costMicros < 1e5 ? 4 : 2)}`];
  return [`${shortNumber(input)} in ${shortNumber(output)} out`, ...cost];
}

function shortNumber(value: number): string {
  if (value < 1_000) return String(value);
  return value < 1e6 ? `${(value / 1e3).toFixed(1)}k` : `${(value / 1e6).toFixed(1)}M`;
}

/** The changeable rows at the bottom, and the cursor's position among them. */
export interface ScreenLayout {
  readonly rows: readonly string[];
  readonly cursor: { readonly row: number; readonly column: number };
}

export interface LayoutSections {
  /** What is being written or run; if too long, its end is shown. */
  readonly live: readonly string[];
  /** Queued messages and the status. */
  readonly status: readonly string[];
  /** What to choose from; if too long, its beginning is shown. */
  readonly choices: readonly string[];
  readonly prompt: DrawnPrompt;
  readonly footer: string;
}

/**
 * Stacks the sections within the window's height. The frame is always lower than the window: one that fills it
 * would be erased together with the rows above. The input has priority.
 */
export function layoutScreen(
  { live, status, choices, prompt, footer }: LayoutSections,
  height: number,
): ScreenLayout {
  const room = Math.max(3, height - 1);
  const input = visibleRows(prompt, Math.max(1, Math.floor(room / 2)));
  let remaining = room - input.rows.length;
  const take = (rows: readonly string[], from: "start" | "end"): readonly string[] => {
    const maxRows = Math.max(0, remaining);
    const taken = from === "start" ? rows.slice(0, maxRows) : rows.slice(-maxRows || rows.length);
    remaining -= taken.length;
    return taken;
  };
  const below = take([footer], "start");
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

const csi = "\u001b[";

/**
 * A narrower window wraps the frame's rows, so erasing as many rows as were drawn would leave some behind. This
 * erases all of them and leaves the cursor where it was in the frame.
 */
export function eraseReflowed({ rows, cursor }: ScreenLayout, columns: number): string {
  let rowsUp = Math.floor(cursor.column / columns);
  for (const row of rows.slice(0, cursor.row))
    rowsUp += Math.max(1, Math.ceil(widthOf(row) / columns));
  const moveBack = cursor.row > 0 ? `${csi}${cursor.row}B` : "";
  return `${rowsUp > 0 ? `${csi}${rowsUp}A` : ""}\r${csi}J${moveBack}`;
}
