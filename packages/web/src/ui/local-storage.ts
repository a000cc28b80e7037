import type { z } from "zod";

const keyPrefix = "holdfast:";

/** What this browser keeps for a person: never anything of a conversation that the host has. */
export function readStored<T>(key: string, schema: z.ZodType<T>): T | null {
  try {
    const text = localStorage.getItem(keyPrefix + key);
    const parsed = schema.safeParse(text === null ? null : JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** A browser that keeps nothing (private, full) loses a comfort, not a message. */
export function writeStored(key: string, value: unknown): void {
  try {
    if (value === null) localStorage.removeItem(keyPrefix + key);
    else localStorage.setItem(keyPrefix + key, JSON.stringify(value));
  } catch {
    return;
  }
}

/** The keys of this kind that are kept, without the kind. */
export function storedKeys(kind: string): string[] {
  try {
    const start = keyPrefix + kind;
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(start))
      .map((key) => key.slice(start.length));
  } catch {
    return [];
  }
}
