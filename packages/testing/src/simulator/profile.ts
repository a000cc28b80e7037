import type { SeededRandom } from "./scheduler.ts";

/**
 * What can go wrong in one simulation, and how often. Each seed switches most of it off or up: a run with plenty of
 * one fault finds what a run with a little of everything doesn't.
 */
export interface SimProfile {
  readonly hosts: number;
  readonly writers: number;
  readonly readers: number;
  readonly actsOfAWriter: number;
  readonly leaseMs: number;
  readonly policy: "resume" | "ask" | "off";
  /** How long faults go on, in simulated milliseconds. */
  readonly troubleMs: number;
  /** `liveness`: then they stop, and everything must finish. */
  readonly mode: "safety" | "liveness";
  /** Between two actions of the nemesis, on average; infinite when it does nothing. */
  readonly nemesisMs: number;
  readonly nemesis: {
    readonly crash: number;
    readonly pause: number;
    readonly outage: number;
    readonly clock: number;
    readonly poke: number;
  };
  /** Of one store call. */
  readonly failing: number;
  readonly unknown: number;
  readonly slow: number;
  readonly lostWake: number;
  readonly doubleWake: number;
  /** How often a dead holder can be proven dead. */
  readonly proof: number;
  readonly lateStart: number;
  /** Of one write to a host's own disk, where the journal goes while the store is away. */
  readonly diskFull: number;
  readonly spills: boolean;
}

export function drawProfile(chance: SeededRandom): SimProfile {
  const sometimes = (most: number): number => (chance.happens(0.5) ? chance.next() * most : 0);
  const weight = (): number => (chance.happens(0.6) ? chance.next() : 0);
  const nemesis = {
    crash: weight(),
    pause: weight(),
    outage: weight() * 2,
    clock: weight() / 2,
    poke: 0.1,
  };
  return {
    ...drawSize(chance),
    leaseMs: chance.pick([1_500, 3_000, 6_000]),
    policy: chance.weighted({ resume: 6, ask: 1, off: 1 }),
    mode: chance.weighted({ liveness: 3, safety: 1 }),
    nemesisMs: chance.happens(0.15) ? Infinity : chance.pick([300, 1_000, 3_000]),
    nemesis,
    failing: sometimes(0.1),
    unknown: sometimes(0.1),
    slow: sometimes(0.05),
    lostWake: sometimes(1),
    doubleWake: sometimes(0.3),
    proof: chance.pick([0, 0.5, 1]),
    lateStart: sometimes(0.6),
    diskFull: chance.happens(0.2) ? 0.2 : 0,
    spills: chance.happens(0.7),
  };
}

/** Most runs are small: bugs show in a small one too, and many more of them fit in the time. */
function drawSize(
  chance: SeededRandom,
): Pick<SimProfile, "hosts" | "writers" | "readers" | "actsOfAWriter" | "troubleMs"> {
  const isSmall = chance.happens(0.8);
  const upTo = (small: number, large: number): number => chance.between(1, isSmall ? small : large);
  return {
    hosts: chance.happens(0.2) ? 1 : 1 + upTo(1, 2),
    writers: upTo(2, 3),
    readers: upTo(1, 2),
    actsOfAWriter: 1 + upTo(3, 8),
    troubleMs: 1_000 + upTo(4_000, 12_000),
  };
}
