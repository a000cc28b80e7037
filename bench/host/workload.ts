import type { Workload } from "../harness/index.ts";
import type { Place } from "../store/place.ts";
import type { Sizes } from "./sizes.ts";

export interface Bench {
  readonly sizes: Sizes;
  /** A store with many sessions of the person that the host serves. */
  readonly prepare: () => Promise<Place>;
}

export interface WorkloadDefinition {
  readonly id: string;
  readonly title: string;
  readonly measure: (bench: Bench) => Promise<Pick<Workload, "lines"> & Partial<Workload>>;
}
