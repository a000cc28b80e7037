import type { ConnectionState } from "@holdfast/client";
import type { UsageTotalsView } from "@holdfast/protocol";
import { cleanLine } from "../../screen/text.ts";
import { fitTo, widthOf } from "../../screen/width.ts";
import { type RenderStyle } from "../../screen/markdown.ts";

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
