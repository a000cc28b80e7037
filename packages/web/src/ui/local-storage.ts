import type { z } from "zod";

const prefix = "holdfast:";

/** What this browser keeps for a person: never anything of a conversation that the host has. */
export function readKept<T>(key: string, schema: z.ZodType<T>): T | null {
  try {
    const text = localStorage.getItem(prefix + key);
    const parsed = schema.safeParse(text === null ? null : JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** A browser that keeps nothing (private, full) loses a comfort, not a message. */
export function keep(key: string, value: unknown): void {
  try {
    if (value === null) localStorage.removeItem(prefix + key);
    else localStorage.setItem(prefix + key, JSON.stringify(value));
  } catch {
    return;
  }
}

/** The keys of this kind that are kept, without the kind. */
export function keptUnder(kind: string): string[] {
  try {
    const start = prefix + kind;
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(start))
      .map((key) => key.slice(start.length));
  } catch {
    return [];
  }
}
