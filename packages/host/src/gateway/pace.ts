import type { Clock } from "@holdfast/engine";

import type { Limits, Place } from "./adapter.ts";

/** Calls that show something go out one by one in each place, in the order in which they were asked for, at the platform's pace. */
export class Pacer {
  readonly #limits: Pick<Limits, "paceMs" | "callsPerSecond">;
  readonly #clock: Clock;
  readonly #turns = new Map<string, Promise<void>>();
  readonly #free = new Map<string, number>();
  #nextCall = 0;

  constructor(limits: Pick<Limits, "paceMs" | "callsPerSecond">, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Whether a call to this place would go out at once. */
  isFree(place: Place): boolean {
    const now = this.#clock.now();
    return !this.#turns.has(place.chat) && this.#freeAt(place) <= now;
  }

  async inTurn<T>(place: Place, signal: AbortSignal, call: () => Promise<T>): Promise<T | null> {
    const before = this.#turns.get(place.chat);
    const done = Promise.withResolvers<void>();
    this.#turns.set(place.chat, done.promise);
    try {
      await before;
      await this.#wait(place, signal);
      if (signal.aborted) return null;
      const result = await call();
      this.#free.set(place.chat, this.#clock.now() + this.#limits.paceMs(place));
      return result;
    } finally {
      if (this.#turns.get(place.chat) === done.promise) this.#turns.delete(place.chat);
      done.resolve();
    }
  }

  /** The platform has said that it is too much. */
  holdBack(place: Place, ms: number): void {
    const until = this.#clock.now() + ms;
    this.#free.set(place.chat, Math.max(until, this.#freeAt(place)));
  }

  #freeAt({ chat }: Place): number {
    return this.#free.get(chat) ?? 0;
  }

  async #wait(place: Place, signal: AbortSignal): Promise<void> {
    for (;;) {
      const now = this.#clock.now();
      const at = Math.max(this.#freeAt(place), this.#nextCall);
      if (at <= now || signal.aborted) {
        this.#nextCall = Math.max(now, this.#nextCall) + 1000 / this.#limits.callsPerSecond;
        this.#forgetOld(now);
        return;
      }
      await this.#clock.sleep(at - now, signal);
    }
  }

  #forgetOld(now: number): void {
    if (this.#free.size < 10_000) return;
    for (const [chat, until] of this.#free) if (until <= now) this.#free.delete(chat);
  }
}
