import type { Bound, Line, Unit, Workload } from "../harness/index.ts";
import type { Backend } from "../store/place.ts";
import type { Sizes } from "./sizes.ts";

/** What every workload is given. */
export interface Bench {
  readonly backend: Backend;
  readonly sizes: Sizes;
}

export interface WorkloadDefinition {
  readonly id: string;
  readonly title: string;
  readonly measure: (bench: Bench) => Promise<Pick<Workload, "lines"> & Partial<Workload>>;
}

/** A line with our own figure alone. */
export function lineOf(
  what: string,
  value: number,
  unit: Unit,
  rest: { readonly params?: Line["params"]; readonly below?: number; readonly bound?: Bound } = {},
): Line {
  const { params = {}, below, bound } = rest;
  const limit = below === undefined ? bound : isBelow(value, below, unit);
  return {
    what,
    params,
    figures: [{ system: "holdfast", value, unit }],
    ...(limit && { bound: limit }),
  };
}

function isBelow(value: number, limit: number, unit: Unit): Bound {
  const shown = unit === "bytes" ? `${limit / 1024} KiB` : `${limit} ${unit}`;
  return { text: `< ${shown}`, met: value < limit };
}
