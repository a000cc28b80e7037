import type { z } from "zod";

/** What a default may depend on. */
export interface Surroundings {
  readonly personFolder: string;
}

export interface Setting<T> {
  readonly about: string;
  /** Completes the sentence "it must be …". */
  readonly allowed: string;
  readonly schema: z.ZodType<T>;
  readonly fallback: (surroundings: Surroundings) => T;
  /** The default in words, for the help text. */
  readonly fallbackInWords: string;
  /** Where it cannot be set in the file, or must not be shown. */
  readonly traits?: readonly ("not-in-file" | "secret")[];
}

export function setting<T>(definition: Setting<T>): Setting<T> {
  return definition;
}
