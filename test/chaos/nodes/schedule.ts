import { type SeededRandom, seededRandom } from "@holdfast/testing/simulator/scheduler";
import { leaseMs } from "../processes/protocol.ts";

export const faultKinds = [
  "kill",
  "freeze in a transaction",
  "cut from the database",
  "cut off",
  "database restart",
  "fail over",
  "kill during a fail over",
] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface Fault {
  readonly kind: FaultKind;
  /** Which machine, by its index. The database has none. */
  readonly machine: number;
  readonly ms: number;
  /** How long it is calm afterwards. */
  readonly calmMs: number;
}

/** A lease, half of it again by the clock of whoever takes over, and some time to do so. */
const longerThanLeaseMs = leaseMs * 2.5;

/** Each kind in turn, shuffled anew each time: even a short run has them all. */
export function* scheduleOf(seed: number): Generator<Fault, never> {
  const chance = seededRandom(seed);
  for (;;)
    for (const kind of shuffled(faultKinds, chance))
      yield {
        kind,
        machine: chance.between(0, 2),
        // Some end before the lease does: then nobody may take over, and nothing be lost either.
        ms: chance.pick([leaseMs / 2, longerThanLeaseMs, longerThanLeaseMs * 1.4]),
        calmMs: chance.between(500, 3_000),
      };
}

function shuffled<T>(items: readonly T[], chance: SeededRandom): T[] {
  return items
    .map((item) => ({ item, at: chance.next() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

export function describeFault({ kind, machine, ms, calmMs }: Fault): string {
  const whom = kind === "database restart" || kind === "fail over" ? "" : ` of node${machine + 1}`;
  return `${kind}${whom} (${ms} ms, then ${calmMs} ms of calm)`;
}
