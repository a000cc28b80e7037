import type { Clock } from "../ports/clock.ts";

/** With few runs the beat is quick; with many it is slower, so that commits do not grow with the runs alone. */
const minTickMs = 20;
const maxTickMs = 50;
const msPerRun = 0.05;

/** So many go off in one turn of the event loop: a thousand at once would hold everything else up. */
const maxPerTurn = 64;

/**
 * The beat to which the runs of a process commit what they stream. What was gathered is taken when the beat comes, not when
 * the wait for it begins, so nothing waits for more than one. While nobody waits there is no timer.
 */
export class Tick {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #lastAt = -Infinity;
  #lastCount = 0;
  #beating: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `go` once, with the next beat: at the end of this turn when the last one is long ago. Returns how to leave. */
  join(go: () => void): () => void {
    this.#waiting.add(go);
    if (this.#beating === undefined) void this.#beat();
    return () => {
      this.#waiting.delete(go);
      if (this.#waiting.size > 0) return;
      this.#beating?.abort();
      this.#beating = undefined;
    };
  }

  async #beat(): Promise<void> {
    const beating = new AbortController();
    this.#beating = beating;
    const due = this.#lastAt + this.#everyMs() - this.#clock.now();
    // At the end of the turn at the earliest, so that what is added in it comes along.
    await (due > 0 ? this.#clock.sleep(due, beating.signal) : Promise.resolve());
    if (beating.signal.aborted) return;
    this.#lastAt = this.#clock.now();
    await this.#letGo([...this.#waiting], beating.signal);
    if (beating.signal.aborted) return;
    this.#beating = undefined;
    // Those who came meanwhile wait for the next one.
    if (this.#waiting.size > 0) void this.#beat();
  }

  async #letGo(all: readonly (() => void)[], signal: AbortSignal): Promise<void> {
    this.#lastCount = all.length;
    for (const [index, go] of all.entries()) {
      if (index > 0 && index % maxPerTurn === 0) await this.#clock.sleep(0, signal);
      if (this.#waiting.delete(go)) go();
    }
  }

  #everyMs(): number {
    return Math.min(maxTickMs, Math.max(minTickMs, this.#lastCount * msPerRun));
  }
}
