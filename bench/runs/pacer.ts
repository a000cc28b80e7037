import type { Model, ModelEvent } from "@holdfast/engine";

import { stampedDelta } from "./stamps.ts";

/** A process that was held up for longer does not get all that it missed in one burst. */
const mostLagMs = 100;

/** Speaks when it is told to, for as long as its call goes on. */
interface Speaker {
  readonly speak: (text: string) => void;
  readonly end: () => void;
}

/**
 * A model that gives every one of its calls the same number of deltas a second, evenly spread. One timer serves them all:
 * what is measured is the engine and not a thousand timers.
 */
export class PacedModel implements Model {
  readonly #everyMs: number;
  #speakers: Speaker[] = [];
  #turn = 0;
  #due = performance.now();
  #timer: NodeJS.Timeout | undefined;
  /** Calls so far. */
  asked = 0;
  given = 0;

  constructor(deltasPerSecond: number) {
    this.#everyMs = 1_000 / deltasPerSecond;
  }

  async *stream(_request: unknown, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    this.asked += 1;
    let waiting: string[] = [];
    let wake: () => void = () => {};
    let isOver = false;
    const speaker: Speaker = {
      speak(text) {
        waiting.push(text);
        wake();
      },
      end() {
        isOver = true;
        wake();
      },
    };
    signal.addEventListener("abort", speaker.end, { once: true });
    this.#add(speaker);
    try {
      for (;;) {
        const texts = waiting;
        waiting = [];
        for (const text of texts) yield { kind: "text", text };
        if (isOver) return;
        if (waiting.length > 0) continue;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      signal.removeEventListener("abort", speaker.end);
      this.#speakers = this.#speakers.filter((each) => each !== speaker);
    }
  }

  /** Every call that is under way comes to its end. */
  finish(): void {
    for (const speaker of this.#speakers) speaker.end();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #add(speaker: Speaker): void {
    this.#speakers.push(speaker);
    if (this.#timer !== undefined) return;
    this.#due = performance.now();
    this.#timer = setInterval(() => this.#speakWhatIsDue(), 1);
  }

  /** Round and round: each speaker has its turn once in every period. */
  #speakWhatIsDue(): void {
    const now = performance.now();
    this.#due = Math.max(this.#due, now - mostLagMs);
    while (this.#due <= now && this.#speakers.length > 0) {
      this.#turn = (this.#turn + 1) % this.#speakers.length;
      this.#speakers[this.#turn]?.speak(stampedDelta());
      this.given += 1;
      this.#due += this.#everyMs / this.#speakers.length;
    }
    if (this.#speakers.length === 0) this.#due = now;
  }
}
