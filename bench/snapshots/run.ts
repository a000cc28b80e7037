import { type BenchOptions } from "../harness/options.ts";
import { type Report } from "../harness/report.ts";
import { chooseSizes } from "../harness/sizes.ts";
import { measureChosen } from "../harness/workload.ts";
import { measureSnapshots, sizeTable } from "./bench.ts";

/** What it costs to save the files of a large repository before and after a command, and to undo them. */
export async function benchSnapshots(options: BenchOptions, report: Report): Promise<void> {
  const save = {
    id: "save",
    title: "touched files in a large repository, saved and undone",
    measure: measureSnapshots,
  };
  const sizes = chooseSizes(sizeTable, options);
  await measureChosen([save], sizes, { options, report, backend: "sqlite" });
}
