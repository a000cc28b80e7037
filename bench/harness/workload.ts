import type { Line, Workload } from "./figures.ts";
import type { BenchOptions } from "./options.ts";
import type { Report } from "./report.ts";

/** A workload and how to measure it. */
export interface WorkloadDefinition<Bench> {
  readonly id: string;
  readonly title: string;
  readonly measure: (bench: Bench) => Promise<Pick<Workload, "lines"> & Partial<Workload>>;
}

/** What was requested, and where figures go. */
export interface BenchRun {
  readonly options: BenchOptions;
  readonly report: Report;
}

/** Unless kept, bounds apply to SQLite; PostgreSQL's figures are printed beside. */
export async function measureChosen<Bench>(
  workloads: readonly WorkloadDefinition<Bench>[],
  bench: Bench,
  {
    options,
    report,
    backend,
    bounds,
  }: BenchRun & { readonly backend: "sqlite" | "postgres"; readonly bounds?: "kept" },
): Promise<void> {
  for (const { id, title, measure } of workloads.filter((one) => isChosen(one.id, options.only))) {
    const { lines, notes = [] } = await measure(bench);
    const bound = backend === "sqlite" || bounds === "kept" ? lines : lines.map(unbound);
    report.add({ id, title, backend, lines: bound, notes });
  }
}

/** `W1` names all its parts, `W1.groups` one of them. */
function isChosen(id: string, only: BenchOptions["only"]): boolean {
  return only === undefined || only.has(id) || only.has(id.slice(0, id.indexOf(".")));
}

function unbound({ what, params, figures }: Line): Line {
  return { what, params, figures };
}
