import type { Workload } from "../harness/index.ts";
import type { Backend } from "../store/place.ts";
import type { Sizes } from "./sizes.ts";

/** What every workload is given. */
export interface Bench {
  readonly backend: Backend;
  readonly sizes: Sizes;
}

export interface WorkloadDefinition {
  readonly id: string;
  readonly title: string;
  readonly measure: (bench: Bench) => Promise<Pick<Workload, "lines"> & Partial<Workload>>;
}
