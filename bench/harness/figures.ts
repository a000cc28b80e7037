export type Unit = "ms" | "s" | "/s" | "bytes" | "×" | "%";
export type Params = Readonly<Record<string, string | number>>;

/** One number and its system: "holdfast", "bare driver", or a baseline. */
export interface Figure {
  readonly system: string;
  readonly value: number;
  readonly unit: Unit;
  /** Further measurements behind the one number. */
  readonly more?: Readonly<Record<string, number>>;
}

export interface Bound {
  readonly text: string;
  readonly met: boolean;
}

/** One line of a workload's table: the same work, done by several systems. */
export interface Line {
  readonly what: string;
  readonly params: Params;
  readonly figures: readonly Figure[];
  readonly bound?: Bound;
}

export interface Workload {
  readonly id: string;
  readonly title: string;
  readonly backend: string;
  readonly lines: readonly Line[];
  readonly notes: readonly string[];
}

export const ours = "holdfast";
export const bare = "bare driver";
/** The same in a thread of its own, as the writer of the store is. */
export const bareInThread = "in a thread";

/** A line with our own figure only. */
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
