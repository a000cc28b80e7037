import { findBaselines, noBaselines } from "../baselines/index.ts";
import { type BenchOptions, isChosen, type Report, unbound } from "../harness/index.ts";
import type { Bench, WorkloadDefinition } from "./bench.ts";
import { openCorpus } from "./corpus.ts";
import type { Backend } from "./place.ts";
import { postgresBackend } from "./postgres-backend.ts";
import { fullSizes, quickSizes } from "./sizes.ts";
import { sqliteBackend } from "./sqlite-backend.ts";
import { streamMany } from "./streaming.ts";
import { appendAlone, appendBytes } from "./w1-append.ts";
import { appendGroups } from "./w1-groups.ts";
import { appendFromProcesses } from "./w1-processes.ts";
import { appendTogether } from "./w1-writers.ts";
import { checkpointLongSessions, checkpointManySessions } from "./w2-checkpoint.ts";
import { listSessions } from "./w4-list.ts";
import { openSessions } from "./w5-open.ts";
import { searchMessages } from "./w6-search.ts";
import { lockPairs } from "./w7-locks.ts";

const workloads: readonly WorkloadDefinition[] = [
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
  streamMany,
];

/** The bounds bind on SQLite; PostgreSQL's figures are printed beside. */
export async function benchStore(options: BenchOptions, report: Report): Promise<void> {
  const corpus = openCorpus(options.corpus);
  const sizes = options.quick ? quickSizes : fullSizes;
  const chosen = workloads.filter(({ id }) => isChosen(id, options.only));
  for (const name of options.backends) {
    await using backend = await openBackend(name);
    const baselines =
      name === "sqlite" ? await findBaselines(options.quick ? "bundled" : "all") : noBaselines;
    baselines.notes.forEach((note) => console.log(note));
    const bench: Bench = { backend, corpus, sizes, baselines };
    for (const { id, title, measure } of chosen) {
      const { lines, notes = [] } = await measure(bench);
      report.add({
        id,
        title,
        backend: name,
        lines: name === "sqlite" ? lines : lines.map(unbound),
        notes,
      });
    }
  }
}

async function openBackend(name: Backend["name"]): Promise<Backend> {
  return name === "sqlite" ? sqliteBackend() : postgresBackend();
}
