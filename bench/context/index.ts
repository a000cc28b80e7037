import { type BenchOptions, isChosen, type Report, unbound } from "../harness/index.ts";
import type { Backend } from "../store/place.ts";
import { postgresBackend } from "../store/postgres-backend.ts";
import { sqliteBackend } from "../store/sqlite-backend.ts";
import type { WorkloadDefinition } from "./bench.ts";
import { buildLive, buildNext } from "./build.ts";
import { checkCache } from "./cache.ts";
import { compactBeside } from "./compaction.ts";
import { liveDay } from "./day.ts";
import { commitMemory } from "./memory.ts";
import { fullSizes, quickSizes } from "./sizes.ts";

const workloads: readonly WorkloadDefinition[] = [
  buildLive,
  buildNext,
  compactBeside,
  checkCache,
  commitMemory,
  liveDay,
];

/** The bounds bind on SQLite; PostgreSQL's figures are printed beside. */
export async function benchContext(options: BenchOptions, report: Report): Promise<void> {
  const sizes = options.quick ? quickSizes : fullSizes;
  const chosen = workloads.filter(({ id }) => isChosen(id, options.only));
  for (const name of options.backends) {
    await using backend: Backend = name === "sqlite" ? sqliteBackend() : await postgresBackend();
    for (const { id, title, measure } of chosen) {
      const { lines, notes = [] } = await measure({ backend, sizes });
      const bound = name === "sqlite" ? lines : lines.map(unbound);
      report.add({ id, title, backend: name, lines: bound, notes });
    }
  }
}
