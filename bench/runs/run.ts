import { type BenchOptions } from "../harness/options.ts";
import { chooseSizes } from "../harness/sizes.ts";
import { type Report } from "../harness/report.ts";
import { measureOnEach } from "../store/backends.ts";
import { admitAlone } from "./admission.ts";
import { fanOut } from "./fan-out.ts";
import { weighSessions } from "./memory.ts";
import { recoverLiveRuns, recoverLongJournal } from "./recovery.ts";
import { sizeTable } from "./bench.ts";
import { streamLiveRuns } from "./w3-live-runs.ts";

const workloads = [
  admitAlone,
  streamLiveRuns,
  recoverLiveRuns,
  recoverLongJournal,
  fanOut,
  weighSessions,
];

export async function benchRuns(options: BenchOptions, report: Report): Promise<void> {
  const sizes = chooseSizes(sizeTable, options);
  await measureOnEach(workloads, { options, report }, (backend) => ({ backend, sizes }));
}
