import { nextTurn } from "../fakes/manual-clock.ts";

/** Someone to whom things happen. While paused, nothing does; once dead, nothing ever will. */
export interface Actor {
  readonly name: string;
  readonly alive: boolean;
  readonly pausedUntil: number;
}

/** An actor without faults. */
export function createActor(name: string): Actor {
  return { name, alive: true, pausedUntil: 0 };
}

export interface Pending {
  readonly actor: Actor;
  readonly what: string;
  readonly act: () => void;
  at: number;
  tie: number;
}

interface TraceLine {
  readonly step: number;
  readonly at: number;
  readonly actor: string;
  readonly what: string;
}

/**
 * The only place where anything waits. Every future step is queued here with its time; a step takes the earliest (the
 * seed breaks ties), runs it, and then lets everybody continue who waited for nothing else. So between two steps all
 * code is suspended at a port call or a sleep, and the whole run follows from the seed.
 */
export class Scheduler {
  readonly chance: SeededRandom;
  readonly #trace: TraceLine[] = [];
  #pending: Pending[] = [];
  #now = 0;
  #steps = 0;

  constructor(chance: SeededRandom) {
    this.chance = chance;
  }

  /** True time in milliseconds, which nobody in the simulation can see. */
  get now(): number {
    return this.#now;
  }

  get steps(): number {
    return this.#steps;
  }

  after(ms: number, actor: Actor, what: string, act: () => void): Pending {
    const at = this.#now + Math.max(0, Math.ceil(ms));
    const pending = { at, tie: this.chance.next(), actor, what, act };
    if (actor.alive) this.#pending.push(pending);
    return pending;
  }

  sleep(ms: number, actor: Actor, what: string): Promise<void> {
    return new Promise((resolve) => void this.after(ms, actor, what, resolve));
  }

  cancel(pending: Pending): void {
    const index = this.#pending.indexOf(pending);
    if (index >= 0) this.#pending.splice(index, 1);
  }

  /** Removes pending steps. */
  drop(isDropped: (pending: Pending) => boolean): void {
    this.#pending = this.#pending.filter((pending) => !isDropped(pending));
  }

  /** False: nothing is left to run. */
  async step(): Promise<boolean> {
    const next = this.#takeNext();
    if (next === undefined) return false;
    this.#now = Math.max(this.#now, next.at);
    this.#steps += 1;
    this.note(next.actor, next.what);
    next.act();
    // One turn of the event loop: every promise that could continue has continued.
    await nextTurn();
    return true;
  }

  /** Adds a line to the trace. */
  note({ name }: Actor, what: string): void {
    this.#trace.push({ step: this.#steps, at: this.#now, actor: name, what });
  }

  trace(): string[] {
    return this.#trace.map(
      ({ step, at, actor, what }) =>
        `${String(step).padStart(6)} ${String(at).padStart(8)} ms  ${actor.padEnd(10)} ${what}`,
    );
  }

  #takeNext(): Pending | undefined {
    for (;;) {
      const next = earliestPending(this.#pending);
      if (next === undefined) return undefined;
      const { pausedUntil } = next.actor;
      if (pausedUntil <= Math.max(next.at, this.#now)) {
        this.cancel(next);
        return next;
      }
      next.at = pausedUntil;
      next.tie = this.chance.next();
    }
  }
}

function earliestPending(all: readonly Pending[]): Pending | undefined {
  let first: Pending | undefined;
  for (const candidate of all) {
    if (
      first === undefined ||
      candidate.at < first.at ||
      (candidate.at === first.at && candidate.tie < first.tie)
    )
      first = candidate;
  }
  return first;
}

/** Reproducible randomness. */
export interface SeededRandom {
  /** From 0 (included) to 1 (excluded). */
  next(): number;
  /** An integer; both ends are included. */
  between(from: number, to: number): number;
  happens(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** One of the names, with the given weights. */
  weighted<T extends string>(weights: Readonly<Record<T, number>>): T;
}

/** mulberry32. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    next,
    between: (from, to) => from + Math.floor(next() * (to - from + 1)),
    happens: (probability) => next() < probability,
    pick: (items) => items[Math.floor(next() * items.length)]!,
    weighted<T extends string>(weights: Readonly<Record<T, number>>) {
      const names = Object.keys(weights) as T[];
      let left = next() * names.reduce((sum, name) => sum + weights[name], 0);
      return names.find((name) => (left -= weights[name]) < 0) ?? names.at(-1)!;
    },
  };
}
