import { stripVTControlCharacters } from "node:util";
import type { ConnectionState } from "@holdfast/client";
import type { UsageTotalsView } from "@holdfast/protocol";
import { cleanLine, fitTo, widthOf } from "../../screen/text.ts";
import { type RenderStyle } from "../../screen/markdown.ts";
import type { DrawnPrompt } from "../../screen/line-editor.ts";

export interface FooterState {
  readonly model: string;
  readonly usage: UsageTotalsView | undefined;
  readonly connection: ConnectionState;
  /** What the keys do just now. */
  readonly keys: string;
}

const connectionMarks: Record<ConnectionState, string> = {
  live: "● live",
  reconnecting: "◌ reconnecting",
  offline: "○ offline",
};

/** Who answers, what it has cost, and whether anybody is there; the keys where there is room for them. */
export function footerRow(
  { model, usage, connection, keys }: FooterState,
  look: RenderStyle,
): string {
  const { width, paint } = look;
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

const csi = "\u001b[";

/**
 * A window that was made narrower has broken the rows of the frame in two, and who erases as many rows as were drawn leaves
 * some behind. This erases all that they have become and leaves the cursor where it stood in the frame.
 */
export function eraseReflowed({ rows, cursor }: ScreenLayout, columns: number): string {
  let up = Math.floor(cursor.column / columns);
  for (const row of rows.slice(0, cursor.row))
    up += Math.max(1, Math.ceil(widthOf(stripVTControlCharacters(row)) / columns));
  const back = cursor.row > 0 ? `${csi}${cursor.row}B` : "";
  return `${up > 0 ? `${csi}${up}A` : ""}\r${csi}J${back}`;
}
