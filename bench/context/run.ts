import { type BenchOptions } from "../harness/options.ts";
import { chooseSizes } from "../harness/sizes.ts";
import { type Report } from "../harness/report.ts";
import { measureOnEach } from "../store/backends.ts";
import { buildLive, buildNext } from "./build-context.ts";
import { checkCache } from "./cache.ts";
import { compactBeside } from "./compaction.ts";
import { liveDay } from "./scripted-day.ts";
import { commitMemory } from "./memory.ts";
import { sizeTable } from "./bench.ts";

const workloads = [buildLive, buildNext, compactBeside, checkCache, commitMemory, liveDay];

export async function benchContext(options: BenchOptions, report: Report): Promise<void> {
  const sizes = chooseSizes(sizeTable, options);
  await measureOnEach(workloads, { options, report }, (backend) => ({ backend, sizes }));
}
