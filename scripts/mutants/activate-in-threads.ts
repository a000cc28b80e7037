import { inject } from "vitest";

declare module "vitest" {
  /** Provided by Stryker's test runner. */
  interface ProvidedContext {
    activeMutant: string | undefined;
  }
}

// Stryker activates a mutant by a global variable, which a worker thread does not share. It inherits the environment.
const mutant = inject("activeMutant");
if (mutant !== undefined) process.env["__STRYKER_ACTIVE_MUTANT__"] = mutant;
