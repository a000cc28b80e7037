import { type OpenSimStore } from "@holdfast/testing/simulator/world";
import {
  type SimFigure,
  type SimOptions,
  type SimResult,
  simulate,
} from "@holdfast/testing/simulator/simulate";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";

export const openReferenceStore: OpenSimStore = (clock) => {
  const store = createReferenceStore({ clock });
  return () => store.open();
};

export interface SimRun {
  readonly from: number;
  readonly seeds: number;
  readonly profile?: SimOptions["profile"];
  readonly plant?: SimOptions["plant"];
  readonly plantJournals?: SimOptions["plantJournals"];
  /** Looks for a seed that breaks this promise, ignoring those that break others. */
  readonly promise?: string;
}

export interface SimRunResult {
  readonly seeds: number;
  readonly figures: Readonly<Record<SimFigure, number>>;
  /** The first seed that broke a promise, if one did. */
  readonly failed: SimResult | null;
}

/** Simulates one seed after the other, up to the first that breaks a promise. */
export async function runSimulations(run: SimRun): Promise<SimRunResult> {
  const figures = {
    steps: 0,
    commits: 0,
    runs: 0,
    acknowledged: 0,
    effects: 0,
    shown: 0,
    spilled: 0,
  };
  const { profile, plant, plantJournals } = run;
  for (let seeds = 1; seeds <= run.seeds; seeds += 1) {
    const seed = run.from + seeds - 1;
    const options = { openStore: openReferenceStore, profile, plant, plantJournals };
    const result = await simulate(seed, options);
    for (const name of Object.keys(figures) as SimFigure[]) figures[name] += result.figures[name];
    const broken = result.problems.map((problem) => problem.promise);
    if (run.promise === undefined ? broken.length > 0 : broken.includes(run.promise))
      return { seeds, figures, failed: result };
  }
  return { seeds: run.seeds, figures, failed: null };
}

const linesShown = 60;

/** What broke, how to reproduce it, and what led to it. */
export function describeFailure({ seed, problems, profile, trace }: SimResult): string {
  const lines = trace();
  return [
    `Seed ${seed} (${profile.mode}) broke a promise. Again: npm run chaos -- sim --trace ${seed}`,
    ...problems.map(({ promise, text }) => `  ${promise}  ${text}`),
    `The last of ${lines.length} events:`,
    ...lines.slice(-linesShown),
  ].join("\n");
}
