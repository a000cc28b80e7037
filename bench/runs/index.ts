import { type BenchOptions, isChosen, type Report, unbound } from "../harness/index.ts";
import type { Backend } from "../store/place.ts";
import { postgresBackend } from "../store/postgres-backend.ts";
import { sqliteBackend } from "../store/sqlite-backend.ts";
import { admitAlone } from "./admission.ts";
import type { Bench, WorkloadDefinition } from "./bench.ts";
import { fanOut } from "./fan-out.ts";
import { weighSessions } from "./memory.ts";
import { recoverLiveRuns, recoverLongJournal } from "./recovery.ts";
import { fullSizes, quickSizes } from "./sizes.ts";
import { streamLiveRuns } from "./w3-live.ts";

const workloads: readonly WorkloadDefinition[] = [
  admitAlone,
  streamLiveRuns,
  recoverLiveRuns,
  recoverLongJournal,
  fanOut,
  weighSessions,
];

/** The bounds bind on SQLite; PostgreSQL's figures are printed beside. */
export async function benchRuns(options: BenchOptions, report: Report): Promise<void> {
  const sizes = options.quick ? quickSizes : fullSizes;
  const chosen = workloads.filter(({ id }) => isChosen(id, options.only));
  for (const name of options.backends) {
    await using backend: Backend = name === "sqlite" ? sqliteBackend() : await postgresBackend();
    const bench: Bench = { backend, sizes };
    for (const { id, title, measure } of chosen) {
      const { lines, notes = [] } = await measure(bench);
      const bound = name === "sqlite" ? lines : lines.map(unbound);
      report.add({ id, title, backend: name, lines: bound, notes });
    }
  }
}
