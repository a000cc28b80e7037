import { measureChosen, type BenchRun, type WorkloadDefinition } from "../harness/workload.ts";
import type { Backend } from "./bench-database.ts";
import { postgresBackend } from "./postgres-backend.ts";
import { sqliteBackend } from "./sqlite-backend.ts";

/** For workloads that need nothing but a database. */
export interface BackendBench<Sizes> {
  readonly backend: Backend;
  readonly sizes: Sizes;
}

/** Measures on each requested database. */
export async function measureOnEach<Bench>(
  workloads: readonly WorkloadDefinition<Bench>[],
  session: BenchRun,
  benchOn: (backend: Backend) => Bench | Promise<Bench>,
): Promise<void> {
  for (const name of session.options.backends) {
    await using backend: Backend = name === "sqlite" ? sqliteBackend() : await postgresBackend();
    await measureChosen(workloads, await benchOn(backend), { ...session, backend: name });
  }
}
