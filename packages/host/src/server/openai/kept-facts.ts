import type { Register } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";
import { z } from "zod";

/** Up to 16 short texts, as the protocol says. */
export const metadata = z
  .custom<object>((given) => typeof given === "object" && given !== null, "expected an object")
  // Counted first: each of a million wrong keys would be reported with a problem of its own.
  .refine((given) => Object.keys(given).length <= 16, "at most 16 keys")
  .pipe(z.record(z.string().max(64), z.string().max(512)));

export interface KeptFacts<T> {
  read(owner: OwnerId, id: string): Promise<T | null>;
  /** `too_large`: it does not fit into a row. */
  put(owner: OwnerId, id: string, value: T): Promise<KeptOutcome>;
  /** What others change meanwhile stays: `change` is then asked again. */
  change(owner: OwnerId, id: string, change: (known: T | null) => T): Promise<KeptOutcome>;
}

export type KeptOutcome = "kept" | "too_large" | "failed";

const maxRowLength = 15_500;
const maxAttempts = 10;

/** What a client wants to get back that is no part of a conversation, by the id of a run or session. */
export function openKeptFacts<T>(
  register: Register,
  prefix: string,
  schema: z.ZodType<T>,
): KeptFacts<T> {
  const keyOf = (id: string): string => `${prefix}/${id}`;
  const decode = (row: { readonly value: string } | null): T | null =>
    row === null ? null : (schema.safeParse(JSON.parse(row.value)).data ?? null);

  async function change(
    owner: OwnerId,
    id: string,
    makeNext: (known: T | null) => T,
  ): Promise<KeptOutcome> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const row = await register.read(owner, keyOf(id));
      const value = JSON.stringify(makeNext(decode(row)));
      if (value.length > maxRowLength) return "too_large";
      const put = await register.put({ owner, key: keyOf(id), value, expect: row?.revision ?? 0 });
      if (put.status === "put") return "kept";
      if (put.status === "failed") return "failed";
    }
    return "failed";
  }

  return {
    read: async (owner, id) => decode(await register.read(owner, keyOf(id))),
    put: (owner, id, value) => change(owner, id, () => value),
    change,
  };
}
