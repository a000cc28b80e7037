import { isBusy } from "../errors.ts";
import { type IndexFile, isDamage } from "./index-file.ts";
import type { IndexStep } from "./indexer.ts";
import { StoreUnreadable } from "./store-reader.ts";

/** What is left of an attempt that threw. */
export type AttemptFailure =
  /** Someone else has the file; a moment later it will work. */
  | { readonly status: "busy" }
  /** The index was damaged and has been thrown away; the next attempt begins a new one. */
  | { readonly status: "mended" }
  | { readonly status: "failed"; readonly message: string };

export type StepResult = IndexStep | AttemptFailure;

const maxRebuilds = 3;

/** Decides what follows from an error, and throws a damaged index away. It never throws itself. */
export class IndexRecovery {
  readonly #file: IndexFile;
  #mends = 0;

  constructor(file: IndexFile) {
    this.#file = file;
  }

  run<T>(action: () => T): T | AttemptFailure {
    try {
      const result = action();
      this.#mends = 0;
      return result;
    } catch (error) {
      return this.afterError(error);
    }
  }

  afterError(error: unknown): AttemptFailure {
    if (isBusy(error) || (error instanceof StoreUnreadable && isBusy(error.cause)))
      return { status: "busy" };
    if (!isDamage(error)) {
      // Whatever it was, the next use opens the file again and looks whether it is what it should be.
      this.#file.close();
      return failedAttempt(error);
    }
    this.#mends += 1;
    // A disk that damages each new index is not mended by another one.
    if (this.#mends > maxRebuilds) return failedAttempt(error);
    try {
      this.#file.discard();
      return { status: "mended" };
    } catch (discarding) {
      return isBusy(discarding) ? { status: "busy" } : failedAttempt(discarding);
    }
  }
}

function failedAttempt(error: unknown): AttemptFailure {
  const message = error instanceof Error ? error.message : String(error);
  return { status: "failed", message: `The index cannot be used: ${message}` };
}
