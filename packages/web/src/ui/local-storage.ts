import type { z } from "zod";

const keyPrefix = "holdfast:";

/** Reads state that belongs to this browser alone. Conversations live on the host. */
export function readStored<T>(key: string, schema: z.ZodType<T>): T | null {
  try {
    const text = localStorage.getItem(keyPrefix + key);
    const parsed = schema.safeParse(text === null ? null : JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** Ignores failures: in a private window or with a full storage only convenience is lost, never a message. */
export function writeStored(key: string, value: unknown): void {
  try {
    if (value === null) localStorage.removeItem(keyPrefix + key);
    else localStorage.setItem(keyPrefix + key, JSON.stringify(value));
  } catch {
    return;
  }
}

/** The stored keys that start with `prefix`, without it. */
export function storedKeys(prefix: string): string[] {
  try {
    const fullPrefix = keyPrefix + prefix;
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(fullPrefix))
      .map((key) => key.slice(fullPrefix.length));
  } catch {
    return [];
  }
}
