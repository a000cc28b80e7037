import type { Clock } from "@holdfast/engine";

const wakeReason = "rung";

/** A bell for one who waits. A ring while nobody waits is not lost: the next wait ends at once. */
export class WakeSignal {
  readonly #clock: Clock;
  #rung = false;
  #waiting: AbortController | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    this.#rung = true;
    // With a reason of its own no error is made of it, which would cost more than the rest.
    this.#waiting?.abort(wakeReason);
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#rung) {
      this.#waiting = new AbortController();
      await this.#clock.sleep(ms, AbortSignal.any([signal, this.#waiting.signal]));
      this.#waiting = null;
    }
    this.#rung = false;
  }
}
