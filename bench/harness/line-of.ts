import { type Bound, type Line, ours, type Unit } from "./figures.ts";

/** A line with our own figure alone. */
export function lineOf(
  what: string,
  value: number,
  unit: Unit,
  rest: { readonly params?: Line["params"]; readonly below?: number; readonly bound?: Bound } = {},
): Line {
  const { params = {}, below, bound } = rest;
  const limit = below === undefined ? bound : isBelow(value, below, unit);
  return { what, params, figures: [{ system: ours, value, unit }], ...(limit && { bound: limit }) };
}

function isBelow(value: number, limit: number, unit: Unit): Bound {
  const shown = unit === "bytes" ? `${limit / 1024} KiB` : `${limit} ${unit}`;
  return { text: `< ${shown}`, met: value < limit };
}
