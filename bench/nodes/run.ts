import { buildHost } from "../host/build-host.ts";
import { type BenchOptions } from "../harness/options.ts";
import { type Report } from "../harness/report.ts";
import { chooseSizes } from "../harness/sizes.ts";
import { measureChosen } from "../harness/workload.ts";
import { postgresBackend } from "../store/postgres-backend.ts";
import { admitOnThree } from "./admissions.ts";
import { type Bench, sizeTable } from "./bench.ts";
import { readContexts } from "./context.ts";
import { holdIdleStreams } from "./idle-streams.ts";
import { restingHosts } from "./rest.ts";
import { watchElsewhere } from "./watch.ts";

const workloads = [restingHosts, watchElsewhere, readContexts, holdIdleStreams, admitOnThree];

/** Several hosts on one PostgreSQL. */
export async function benchNodes(options: BenchOptions, report: Report): Promise<void> {
  buildHost();
  await using backend = await postgresBackend();
  const bench: Bench = { sizes: chooseSizes(sizeTable, options), backend };
  // The bounds of this subject are those of PostgreSQL.
  await measureChosen(workloads, bench, { options, report, backend: "postgres", bounds: "kept" });
}
