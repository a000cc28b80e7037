import type { StoreCase } from "../harness.ts";
import { branchCases } from "./branches.ts";
import { commitCases } from "./commits.ts";
import { deltaCases } from "./deltas.ts";
import { fenceCases } from "./fences.ts";
import { leaseCases } from "./leases.ts";
import { listCases } from "./lists.ts";
import { readCases } from "./reads.ts";
import { refusalCases } from "./refusals.ts";

/** Every rule of the Store port, one by one. */
export const storeCases: readonly StoreCase[] = [
  ...commitCases,
  ...refusalCases,
  ...leaseCases,
  ...fenceCases,
  ...deltaCases,
  ...readCases,
  ...branchCases,
  ...listCases,
];
