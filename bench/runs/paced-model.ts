import type { Model, ModelEvent } from "@holdfast/engine";

import { stampedDelta } from "./delta-timestamps.ts";

/** A process that was delayed for longer doesn't get everything it missed in one burst. */
const maxLagMs = 100;

type Next = IteratorResult<ModelEvent, undefined>;
const done: Next = { done: true, value: undefined };

/** One call: it emits what it is told to, as cheaply as possible. */
class Speaker implements AsyncIterable<ModelEvent>, AsyncIterator<ModelEvent, undefined> {
  readonly #waiting: Next[] = [];
  #take: ((next: Next) => void) | undefined;

  speak(text: string): void {
    this.#give({ done: false, value: { kind: "text", text } });
  }

  end(): void {
    this.#give(done);
  }

  next(): Promise<Next> {
    const next = this.#waiting.shift();
    if (next !== undefined) return Promise.resolve(next);
    return new Promise((resolve) => (this.#take = resolve));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #give(next: Next): void {
    const take = this.#take;
    this.#take = undefined;
    if (take === undefined) this.#waiting.push(next);
    else take(next);
  }
}

/**
 * A model that gives each of its calls the same number of deltas a second, evenly spread. One timer serves them all:
 * the engine is measured, not a thousand timers.
 */
export class PacedModel implements Model {
  readonly #periodMs: number;
  readonly #speakers: Speaker[] = [];
  #turn = 0;
  #due = performance.now();
  #timer: NodeJS.Timeout | undefined;
  /** Calls so far. */
  asked = 0;
  given = 0;

  constructor(deltasPerSecond: number) {
    this.#periodMs = 1_000 / deltasPerSecond;
  }

  stream(_request: unknown, signal: AbortSignal): AsyncIterable<ModelEvent> {
    this.asked += 1;
    const speaker = new Speaker();
    signal.addEventListener("abort", () => speaker.end(), { once: true });
    this.#add(speaker);
    return speaker;
  }

  /** Ends every call. */
  finish(): void {
    for (const speaker of this.#speakers.splice(0)) speaker.end();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #add(speaker: Speaker): void {
    this.#speakers.push(speaker);
    if (this.#timer !== undefined) return;
    this.#due = performance.now();
    this.#wait();
  }

  /** Not more often than needed: with one call, a timer of a millisecond would cost as much as the engine. */
  #wait(): void {
    this.#timer = setTimeout(
      () => {
        this.#emitDue();
        this.#wait();
      },
      Math.max(1, this.#due - performance.now()),
    );
  }

  /** Round robin: each speaker has its turn once in every period. */
  #emitDue(): void {
    const now = performance.now();
    this.#due = Math.max(this.#due, now - maxLagMs);
    const text = stampedDelta();
    while (this.#due <= now && this.#speakers.length > 0) {
      this.#turn = (this.#turn + 1) % this.#speakers.length;
      this.#speakers[this.#turn]?.speak(text);
      this.given += 1;
      this.#due += this.#periodMs / this.#speakers.length;
    }
    if (this.#speakers.length === 0) this.#due = now + this.#periodMs;
  }
}
