import { z } from "zod";

/** What a default may depend on. */
export interface DefaultContext {
  readonly personFolder: string;
}

export interface Setting<T> {
  readonly about: string;
  /** Completes the sentence "it must be …". */
  readonly allowed: string;
  readonly schema: z.ZodType<T>;
  readonly fallback: (surroundings: DefaultContext) => T;
  /** The default as shown in the help text. */
  readonly fallbackInWords: string;
  /** Whether it cannot be set in the file, or must not be shown. */
  readonly traits?: readonly ("not-in-file" | "secret")[];
}

export function setting<T>(definition: Setting<T>): Setting<T> {
  return definition;
}

/** Flags and the environment contain text, the file a number. */
export function wholeNumber(from: number, to: number): z.ZodType<number> {
  const digits = z.string().regex(/^\d+$/).transform(Number);
  return z.union([digits, z.number()]).pipe(z.int().min(from).max(to));
}

/** Flags and the environment contain comma-separated text, the file a list. */
export function listOf<T>(item: z.ZodType<T, string>): z.ZodType<readonly T[]> {
  const text = z.string().transform((list) =>
    list
      .split(",")
      .map((entry) => entry.trim())
      .filter((entry) => entry !== ""),
  );
  return z.union([text, z.array(z.string())]).pipe(z.array(item));
}
