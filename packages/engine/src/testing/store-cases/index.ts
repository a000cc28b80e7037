import type { StoreCase } from "../harness.ts";
import { commitCases } from "./commits.ts";
import { refusalCases } from "./refusals.ts";

/** Every rule of the Store port, one by one. */
export const storeCases: readonly StoreCase[] = [...commitCases, ...refusalCases];
