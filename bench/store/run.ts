import { findBaselines, noBaselines } from "../baselines/find-baselines.ts";
import { type BenchOptions } from "../harness/options.ts";
import { chooseSizes } from "../harness/sizes.ts";
import { type Report } from "../harness/report.ts";
import { measureOnEach } from "./backends.ts";
import { openCorpus } from "./corpus.ts";
import { sizeTable } from "./bench.ts";
import { streamMany } from "./streaming.ts";
import { appendAlone, appendBytes } from "./w1-append.ts";
import { appendGroups } from "./w1-groups.ts";
import { appendFromProcesses } from "./w1-processes.ts";
import { appendTogether } from "./w1-concurrent-writers.ts";
import { checkpointLongSessions, checkpointManySessions } from "./w2-checkpoint.ts";
import { listSessions } from "./w4-list.ts";
import { openSessions } from "./w5-open.ts";
import { searchMessages } from "./w6-search.ts";
import { lockPairs } from "./w7-locks.ts";
import { linkEvents } from "./w8-links.ts";

const workloads = [
  appendAlone,
  appendTogether,
  appendFromProcesses,
  appendGroups,
  appendBytes,
  checkpointLongSessions,
  checkpointManySessions,
  listSessions,
  openSessions,
  searchMessages,
  lockPairs,
  linkEvents,
  streamMany,
];

export async function benchStore(options: BenchOptions, report: Report): Promise<void> {
  const corpus = openCorpus(options.corpus);
  const sizes = chooseSizes(sizeTable, options);
  await measureOnEach(workloads, { options, report }, async (backend) => {
    const baselines =
      backend.name === "sqlite"
        ? await findBaselines(options.quick ? "bundled" : "all")
        : noBaselines;
    baselines.notes.forEach((note) => console.log(note));
    return { backend, corpus, sizes, baselines };
  });
}
