import type { BenchOptions } from "../harness/options.ts";
import type { Report } from "../harness/report.ts";
import { chooseSizes } from "../harness/sizes.ts";
import { measureChosen } from "../harness/workload.ts";
import { buildHost } from "../host/build-host.ts";
import { postgresBackend } from "../store/postgres-backend.ts";
import { sqliteBackend } from "../store/sqlite-backend.ts";
import { measureImport, sizeTable } from "./bench.ts";

const hermes = {
  id: "hermes",
  title: "a hermes home, imported and proven",
  measure: measureImport,
};

/** What it takes to bring years of conversations over, on each database. */
export async function benchImport(options: BenchOptions, report: Report): Promise<void> {
  buildHost();
  const sizes = chooseSizes(sizeTable, options);
  for (const name of options.backends) {
    await using backend = name === "sqlite" ? sqliteBackend() : await postgresBackend();
    await measureChosen([hermes], { sizes, backend }, { options, report, backend: name });
  }
}
