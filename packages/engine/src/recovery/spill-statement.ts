import { fence, ownerId, runId } from "@holdfast/protocol";
import { z } from "zod";

import type { Register } from "../ports/register.ts";
import type { SpillRef, SpillStore } from "../ports/spill.ts";
import type { Store } from "../ports/store.ts";

/** Statements belong to no person: a spill folder serves the whole host. */
const owner = ownerId.parse("owner");

/** Which spills a place had. `asOf` is by the store's clock, from before its folder was read. */
const statement = z.object({
  asOf: z.int().nonnegative(),
  spills: z.array(z.object({ runId, fence })),
});

/** More do not fit into a register row; then nothing is stated, and notices wait as they would without it. */
const maxStatedSpills = 150;

function keyOf(place: string): string {
  return `spills/${place}`;
}

/**
 * States in the store which spills this home has, so that hosts with other homes do not wait for those that it lacks.
 * `false`: it could not be stated now.
 */
export async function stateSpills(
  store: Pick<Store, "register" | "now">,
  spills: Pick<SpillStore, "place" | "all">,
): Promise<boolean> {
  const { register } = store;
  const asOf = await store.now();
  const all = await spills.all();
  if (all === null) return false;
  if (all.length > maxStatedSpills) return true;
  const names = all.map((name) => ({ runId: name.runId, fence: name.fence }));
  const value = JSON.stringify({ asOf, spills: names } satisfies z.input<typeof statement>);
  const key = keyOf(spills.place);
  const revision = (await register.read(owner, key))?.revision ?? 0;
  return (await register.put({ owner, key, value, expect: revision })).status === "put";
}

/**
 * Whether the spill's home has stated, since the run was taken over, that it has no such file. A runner that was
 * replaced begins no file any more, so that none can follow.
 */
export async function isStatedEmpty(
  register: Pick<Register, "read">,
  ref: SpillRef,
  takenOverAt: number,
): Promise<boolean> {
  const row = await register.read(owner, keyOf(ref.place));
  const stated = row && decodeStatement(row.value);
  if (!stated || stated.asOf <= takenOverAt) return false;
  return !stated.spills.some((name) => name.runId === ref.runId && name.fence === ref.fence);
}

function decodeStatement(value: string): z.infer<typeof statement> | undefined {
  try {
    return statement.safeParse(JSON.parse(value)).data;
  } catch {
    return undefined;
  }
}
