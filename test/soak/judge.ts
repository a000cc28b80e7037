/** What a host holds at rest. */
export interface HostFootprint {
  readonly memoryMb: number;
  readonly files: number;
  readonly handles: number;
}

export interface SoakSample extends HostFootprint {
  /** Medians of the round's requests. */
  readonly acceptMs: number;
  readonly searchMs: number;
}

export type SoakFigure = keyof SoakSample;

interface Bound {
  readonly name: string;
  readonly ratio: number;
  readonly slack: number;
}

/** The last third may exceed the first by this ratio plus this slack. */
const bounds: Readonly<Record<SoakFigure, Bound>> = {
  memoryMb: { name: "memory at rest, MB", ratio: 1.1, slack: 16 },
  files: { name: "open files", ratio: 1, slack: 6 },
  handles: { name: "handles", ratio: 1, slack: 6 },
  acceptMs: { name: "message to accepted, ms (median)", ratio: 1.5, slack: 3 },
  searchMs: { name: "search, ms (median)", ratio: 1.5, slack: 5 },
};

export interface SoakRow {
  readonly figure: SoakFigure;
  readonly name: string;
  readonly first: number;
  readonly last: number;
  readonly allowed: number;
}

/** Compares the first third of the samples with the last. */
export function compareThirds(
  samples: readonly SoakSample[],
  extraSlack: Partial<Record<SoakFigure, number>> = {},
): readonly SoakRow[] {
  const third = Math.max(1, Math.floor(samples.length / 3));
  return (Object.keys(bounds) as SoakFigure[]).map((figure) => {
    const { name, ratio, slack } = bounds[figure];
    const first = median(samples.slice(0, third).map((sample) => sample[figure]));
    const last = median(samples.slice(-third).map((sample) => sample[figure]));
    const allowed = first * ratio + slack + (extraSlack[figure] ?? 0);
    return { figure, name, first, last, allowed };
  });
}

/** A sentence for each figure that grew. */
export function describeGrowth(rows: readonly SoakRow[]): readonly string[] {
  return rows
    .filter(({ last, allowed }) => last > allowed)
    .map(
      ({ name, first, last, allowed }) =>
        `${name} grew from ${first.toFixed(1)} to ${last.toFixed(1)}; at most ${allowed.toFixed(1)} is flat.`,
    );
}

/** NaN if there are none: a round may be too short for every kind of request. */
export function median(values: readonly number[]): number {
  const sorted = values.filter(Number.isFinite).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
