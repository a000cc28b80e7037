import { ours, type Workload } from "./figures.ts";
import { renderTable } from "./table.ts";

/** Prints each workload as soon as it is measured, and collects everything for the JSON. */
export class Report {
  readonly workloads: Workload[] = [];

  add(workload: Workload): void {
    this.workloads.push(workload);
    console.log(`\n### ${workload.id} ${workload.title} (${workload.backend})\n`);
    if (workload.lines.length > 0) console.log(renderTable(workload.lines));
    for (const note of workload.notes) console.log(`\n${note}`);
  }

  summary(): string {
    const bound = this.workloads.flatMap(({ id, backend, lines }) =>
      lines.flatMap((line) => (line.bound ? [{ id, backend, line, bound: line.bound }] : [])),
    );
    const missed = bound.filter((line) => !line.bound.met);
    const list = missed.map(
      ({ id, backend, line, bound: { text } }) => `  ${id} ${line.what} (${backend}): ${text}`,
    );
    return [`${bound.length - missed.length} of ${bound.length} bounds are met.`, ...list].join(
      "\n",
    );
  }

  /** Every figure with its parameters, flat, for comparison with other systems. */
  figures(): readonly Record<string, unknown>[] {
    return this.workloads.flatMap(({ id, backend, lines }) =>
      lines.flatMap(({ what, params, figures, bound }) =>
        figures.map((figure) => ({
          workload: id,
          backend,
          what,
          params,
          ...figure,
          ...(figure.system === ours && bound && { bound }),
        })),
      ),
    );
  }
}
